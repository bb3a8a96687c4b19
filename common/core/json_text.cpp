#include "common/core/json_text.hpp"

#include "common/core/json_fields.hpp"
#include "common/core/json_words.hpp"
#include "common/core/utf8.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace cupel {
namespace {

using namespace json_fields;  // NOLINT(google-build-using-namespace): as json.cpp

constexpr bool is_plain(char byte) {
  return byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\';
}

void append_escaped(std::string& out, std::string_view clean) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (const char byte : clean) {
    switch (byte) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default: {
        const auto code = static_cast<unsigned char>(byte);
        if (code >= ' ') {
          out += byte;
        } else {
          out += "\\u00";
          out += kHex[code >> 4U];
          out += kHex[code & 15U];
        }
      }
    }
  }
}

void append_text(std::string& out, std::string_view text) {
  out += '"';
  std::size_t plain = 0;
  while (plain < text.size() && is_plain(text[plain])) ++plain;
  if (plain == text.size()) {
    out += text;
  } else if (is_clean_text(text)) {
    append_escaped(out, text);
  } else {
    append_escaped(out, clean_text(text));
  }
  out += '"';
}

template <typename Number>
void append_number(std::string& out, Number value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

// An archive as the one of json.cpp; fields() names the members.
class TextWriter {
 public:
  explicit TextWriter(std::string& out) : out_(out) { out_ += '{'; }

  template <typename T>
  void operator()(std::string_view key, const T& value, std::size_t = 0) {
    if constexpr (std::is_same_v<T, ValidationSettings>) return;
    if (out_.back() != '{') out_ += ',';
    out_ += '"';
    out_ += key;
    out_ += "\":";
    write(out_, value);
  }

  template <typename T>
  static void write(std::string& out, const T& value) {
    if constexpr (std::is_enum_v<T>) {
      out += '"';
      out += word(value);
      out += '"';
    } else if constexpr (std::is_same_v<T, bool>) {
      out += value ? "true" : "false";
    } else if constexpr (std::is_arithmetic_v<T>) {
      append_number(out, value);
    } else {
      TextWriter inner(out);
      inner.members(value);
    }
  }
  static void write(std::string& out, const std::string& value) { append_text(out, value); }
  template <char Prefix>
  static void write(std::string& out, const Id<Prefix>& value) {
    append_text(out, value ? value.text() : std::string());
  }
  static void write(std::string& out, const Token& value) { append_number(out, value.value); }
  static void write(std::string& out, const Digest& value) {
    append_text(out, value.empty() ? std::string() : value.hex());
  }
  static void write(std::string& out, const WallTime& value) {
    append_text(out, to_rfc3339(value));
  }
  template <typename T>
  static void write(std::string& out, const std::vector<T>& value) {
    out += '[';
    for (const T& item : value) {
      if (&item != &value.front()) out += ',';
      write(out, item);
    }
    out += ']';
  }
  template <typename T>
  static void write(std::string& out, const std::optional<T>& value) {
    if (value) {
      write(out, *value);
    } else {
      out += "null";
    }
  }
  template <typename... T>
  static void write(std::string& out, const std::variant<T...>& value) {
    std::visit(
        [&out](const auto& alternative) {
          TextWriter inner(out);
          inner("type", std::string(type_name(&alternative)));
          inner.members(alternative);
        },
        value);
  }

 private:
  template <typename T>
  void members(const T& value) {
    // The description takes a mutable value for the reader's sake; the writer only looks.
    fields(*this, const_cast<T&>(value));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    out_ += '}';
  }

  std::string& out_;
};

template <typename T>
std::string written(const T& value) {
  std::string out;
  out.reserve(512);
  TextWriter::write(out, value);
  return out;
}

}  // namespace

void JsonLine::begin(std::string_view key) {
  if (line_.size() > 1) line_ += ',';
  line_ += '"';
  line_ += key;
  line_ += "\":";
}

JsonLine& JsonLine::text(std::string_view key, std::string_view value) {
  begin(key);
  append_text(line_, value);
  return *this;
}

JsonLine& JsonLine::number(std::string_view key, double value) {
  begin(key);
  append_number(line_, value);
  return *this;
}

std::string JsonLine::take() {
  line_ += '}';
  return std::exchange(line_, "{");
}

std::string json_text(const Source& value) {
  return written(value);
}
std::string json_text(const UnitInfo& value) {
  return written(value);
}
std::string json_text_without_settings(const TaskSpec& value) {
  return written(value);
}
std::string json_text(const TaskResult& value) {
  return written(value);
}

}  // namespace cupel
