#include "common/core/json.hpp"

#include "common/core/json_fields.hpp"
#include "common/core/json_words.hpp"
#include "common/core/limits.hpp"
#include "common/core/utf8.hpp"

#include <nlohmann/json.hpp>

#include <concepts>
#include <limits>
#include <type_traits>

namespace cupel {
namespace {

using Json = nlohmann::json;

using namespace json_fields;  // NOLINT(google-build-using-namespace): its other half

constexpr std::size_t kListMax = 10'000;

class Writer {
 public:
  template <typename T>
  void operator()(const char* key, const T& value, std::size_t = kListMax) {
    object_[key] = write(value);
  }

  template <typename T>
  static Json write(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      return std::string(word(value));
    } else if constexpr (std::is_arithmetic_v<T>) {
      return value;
    } else {
      Writer inner;
      // The description takes a mutable value for the reader's sake; the writer only looks.
      fields(inner, const_cast<T&>(value));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
      return std::move(inner.object_);
    }
  }
  static Json write(const std::string& value) {
    return is_clean_text(value) ? value : clean_text(value);
  }
  template <char Prefix>
  static Json write(const Id<Prefix>& value) {
    return value ? value.text() : std::string();
  }
  static Json write(const Token& value) { return value.value; }
  static Json write(const Digest& value) { return value.empty() ? std::string() : value.hex(); }
  static Json write(const WallTime& value) { return to_rfc3339(value); }
  template <typename T>
  static Json write(const std::vector<T>& value) {
    Json array = Json::array();
    for (const T& item : value) array.push_back(write(item));
    return array;
  }
  template <typename T>
  static Json write(const std::optional<T>& value) {
    return value ? write(*value) : Json(nullptr);
  }
  template <typename... T>
  static Json write(const std::variant<T...>& value) {
    return std::visit(
        [](const auto& alternative) {
          Json object = write(alternative);
          object["type"] = std::string(type_name(&alternative));
          return object;
        },
        value);
  }

 private:
  Json object_ = Json::object();
};

// Stops at the first error; a member that is absent keeps its default, so that records of an older
// version can be read, and an unknown one is passed over, so that those of a newer one can.
class Reader {
 public:
  Reader(const Json& object, std::string path, std::optional<Error>& error)
      : object_(object), path_(std::move(path)), error_(error) {}

  template <typename T>
  void operator()(const char* key, T& value, std::size_t list_max = kListMax) {
    if (error_) return;
    const auto member = object_.find(key);
    if (member == object_.end()) return;
    read(*member, value, path_.empty() ? std::string(key) : path_ + "." + key, error_, list_max);
  }

  template <typename T>
  static void read(const Json& json, T& value, std::string path, std::optional<Error>& error,
                   std::size_t list_max = kListMax) {
    if constexpr (std::is_enum_v<T>) {
      const auto parsed =
          json.is_string() ? parse_word<T>(json.get_ref<const std::string&>()) : std::optional<T>();
      if (!parsed) return fail(error, path, json, "a word of its list");
      value = *parsed;
    } else if constexpr (std::same_as<T, bool>) {
      if (!json.is_boolean()) return fail(error, path, json, "true or false");
      value = json.get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
      read_number(json, value, path, error);
    } else {
      static_cast<void>(list_max);
      if (!json.is_object()) return fail(error, path, json, "an object");
      Reader inner(json, std::move(path), error);
      fields(inner, value);
    }
  }
  static void read(const Json& json, std::string& value, const std::string& path,
                   std::optional<Error>& error, std::size_t = 0) {
    if (!json.is_string()) return fail(error, path, json, "a text");
    value = json.get<std::string>();
  }
  template <char Prefix>
  static void read(const Json& json, Id<Prefix>& value, const std::string& path,
                   std::optional<Error>& error, std::size_t = 0) {
    if (json.is_string() && json.get_ref<const std::string&>().empty()) return void(value = {});
    const auto parsed = json.is_string() ? Id<Prefix>::parse(json.get_ref<const std::string&>())
                                         : std::optional<Id<Prefix>>();
    if (!parsed) return fail(error, path, json, std::string("an id such as ") + Prefix + "-1");
    value = *parsed;
  }
  static void read(const Json& json, Token& value, const std::string& path,
                   std::optional<Error>& error, std::size_t = 0) {
    read_number(json, value.value, path, error);
  }
  static void read(const Json& json, Digest& value, const std::string& path,
                   std::optional<Error>& error, std::size_t = 0) {
    if (json.is_string() && json.get_ref<const std::string&>().empty()) return void(value = {});
    const auto parsed = json.is_string() ? Digest::parse(json.get_ref<const std::string&>())
                                         : std::optional<Digest>();
    if (!parsed) return fail(error, path, json, "64 hex digits");
    value = *parsed;
  }
  static void read(const Json& json, WallTime& value, const std::string& path,
                   std::optional<Error>& error, std::size_t = 0) {
    const auto parsed = json.is_string() ? parse_rfc3339(json.get_ref<const std::string&>())
                                         : std::optional<WallTime>();
    if (!parsed) return fail(error, path, json, "a time such as 2026-11-29T16:02:11.123456Z");
    value = *parsed;
  }
  template <typename T>
  static void read(const Json& json, std::vector<T>& value, const std::string& path,
                   std::optional<Error>& error, std::size_t list_max = kListMax) {
    if (!json.is_array()) return fail(error, path, json, "a list");
    if (json.size() > list_max) {
      return fail(error, path, Json(json.size()),
                  "at most " + std::to_string(list_max) + " entries");
    }
    value.clear();
    value.reserve(json.size());
    for (std::size_t i = 0; i < json.size() && !error; ++i) {
      read(json[i], value.emplace_back(), path + "[" + std::to_string(i) + "]", error);
    }
  }
  template <typename T>
  static void read(const Json& json, std::optional<T>& value, const std::string& path,
                   std::optional<Error>& error, std::size_t = 0) {
    value.reset();
    if (!json.is_null()) read(json, value.emplace(), path, error);
  }
  template <typename... T>
  static void read(const Json& json, std::variant<T...>& value, const std::string& path,
                   std::optional<Error>& error, std::size_t = 0) {
    if (!json.is_object()) return fail(error, path, json, "an object");
    const auto type = json.find("type");
    const std::string type_path = path.empty() ? "type" : path + ".type";
    if (type == json.end() || !type->is_string()) {
      return fail(error, type_path, type == json.end() ? Json(nullptr) : *type, "a known type");
    }
    const auto& wanted = type->template get_ref<const std::string&>();
    const bool known = ((wanted == type_name(static_cast<const T*>(nullptr)) &&
                         (read(json, value.template emplace<T>(), path, error), true)) ||
                        ...);
    if (!known) fail(error, type_path, *type, "a known type");
  }

 private:
  template <std::integral T>
  static void read_number(const Json& json, T& value, const std::string& path,
                          std::optional<Error>& error) {
    const bool fits = json.is_number_unsigned()  ? std::in_range<T>(json.get<std::uint64_t>())
                      : json.is_number_integer() ? std::in_range<T>(json.get<std::int64_t>())
                                                 : false;
    if (!fits) {
      return fail(error, path, json,
                  "a whole number from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
                      std::to_string(std::numeric_limits<T>::max()));
    }
    value = json.get<T>();
  }

  static void fail(std::optional<Error>& error, const std::string& path, const Json& found,
                   const std::string& wanted) {
    if (error) return;
    std::string text = found.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > 80) text = clean_text(text, 77) + "...";
    error = Error{.code = Errc::bad_value,
                  .what = (path.empty() ? "the value" : path) + ": " + text + " is not " + wanted,
                  .detail = {},
                  .hint = {}};
  }

  const Json& object_;
  std::string path_;
  std::optional<Error>& error_;
};

template <typename T>
Result<T> read_value(const Json& json) {
  T value;
  std::optional<Error> error;
  Reader::read(json, value, std::string(), error);
  if (error) return *std::move(error);
  return value;
}

}  // namespace

Json to_json(const Source& value) {
  return Writer::write(value);
}
Json to_json(const Change& value) {
  return Writer::write(value);
}
Json to_json(const ChangeFacts& value) {
  return Writer::write(value);
}
Json to_json(const ScanFacts& value) {
  return Writer::write(value);
}
Json to_json(const ToolFacts& value) {
  return Writer::write(value);
}
Json to_json(const UnitInfo& value) {
  return Writer::write(value);
}
Json to_json(const ValidationSettings& value) {
  return Writer::write(value);
}
Json to_json(const TaskSpec& value) {
  return Writer::write(value);
}
Json to_json(const Finding& value) {
  return Writer::write(value);
}
Json to_json(const SourceFacts& value) {
  return Writer::write(value);
}
Json to_json(const ModuleFacts& value) {
  return Writer::write(value);
}
Json to_json(const CheckRecord& value) {
  return Writer::write(value);
}
Json to_json(const Evidence& value) {
  return Writer::write(value);
}
Json to_json(const LogRef& value) {
  return Writer::write(value);
}
Json to_json(const TaskResult& value) {
  return Writer::write(value);
}

Result<Source> source_from_json(const Json& json) {
  return read_value<Source>(json);
}
Result<Change> change_from_json(const Json& json) {
  return read_value<Change>(json);
}
Result<ChangeFacts> change_facts_from_json(const Json& json) {
  return read_value<ChangeFacts>(json);
}
Result<ScanFacts> scan_facts_from_json(const Json& json) {
  return read_value<ScanFacts>(json);
}
Result<ToolFacts> tool_facts_from_json(const Json& json) {
  return read_value<ToolFacts>(json);
}
Result<UnitInfo> unit_from_json(const Json& json) {
  return read_value<UnitInfo>(json);
}
Result<ValidationSettings> settings_from_json(const Json& json) {
  return read_value<ValidationSettings>(json);
}
Result<TaskSpec> spec_from_json(const Json& json) {
  return read_value<TaskSpec>(json);
}
Result<Finding> finding_from_json(const Json& json) {
  return read_value<Finding>(json);
}
Result<SourceFacts> source_facts_from_json(const Json& json) {
  return read_value<SourceFacts>(json);
}
Result<ModuleFacts> module_facts_from_json(const Json& json) {
  return read_value<ModuleFacts>(json);
}
Result<CheckRecord> check_from_json(const Json& json) {
  return read_value<CheckRecord>(json);
}
Result<Evidence> evidence_from_json(const Json& json) {
  return read_value<Evidence>(json);
}
Result<LogRef> log_from_json(const Json& json) {
  return read_value<LogRef>(json);
}
Result<TaskResult> result_from_json(const Json& json) {
  return read_value<TaskResult>(json);
}

}  // namespace cupel
