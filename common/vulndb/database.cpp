#include "common/vulndb/database.hpp"

#include "common/core/digest.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace cupel::vulndb {
namespace {

using nlohmann::json;

constexpr std::string_view kDbIndex = "index/db.json";
constexpr std::string_view kModulesIndex = "index/modules.json";
constexpr std::string_view kVulnsIndex = "index/vulns.json";
constexpr std::string_view kEntryFolder = "ID/";
constexpr std::string_view kSuffix = ".json";
constexpr std::size_t kIdBytesMax = 64;
constexpr std::size_t kTimeBytesMax = 64;

Problem corrupt(std::string what) {
  return {Reason::vulndb_corrupt, "vulnerability database: " + std::move(what)};
}

bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= kIdBytesMax && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  });
}

/// The id of a file "ID/GO-2026-0001.json"; empty for another file.
std::string_view id_of(std::string_view path) {
  if (!path.starts_with(kEntryFolder) || !path.ends_with(kSuffix)) return {};
  path.remove_prefix(kEntryFolder.size());
  path.remove_suffix(std::min(path.size(), kSuffix.size()));
  return is_id(path) ? path : std::string_view();
}

std::string file_of(std::string_view id) {
  return std::string(kEntryFolder) + std::string(id) + std::string(kSuffix);
}

std::string shown(std::string_view path) {
  std::string out;
  for (const char c : path.substr(0, 200)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte >= 0x7F ? '?' : c;
  }
  return "'" + out + "'";
}

std::string text_of(const json& object, const char* member) {
  if (!object.is_object()) return {};
  const auto found = object.find(member);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const json& list_of(const json& object, const char* member) {
  static const json kEmpty = json::array();
  if (!object.is_object()) return kEmpty;
  const auto found = object.find(member);
  return found != object.end() && found->is_array() ? *found : kEmpty;
}

/// Reads the three indexes and every entry, and holds them against one another.
class Consistency {
 public:
  explicit Consistency(Database& database) : database_(database) {}

  std::optional<Problem> check() {
    for (const auto step :
         {&Consistency::db, &Consistency::vulns, &Consistency::modules, &Consistency::entries}) {
      if (auto problem = (this->*step)()) return problem;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::variant<json, Problem> index(std::string_view path) const {
    const auto found = database_.files.find(std::string(path));
    if (found == database_.files.end()) return corrupt(std::string(path) + " is missing");
    json value = json::parse(found->second, nullptr, false);
    if (value.is_discarded()) return corrupt(std::string(path) + " is no JSON");
    return value;
  }

  std::optional<Problem> db() {
    auto value = index(kDbIndex);
    if (auto* problem = std::get_if<Problem>(&value)) return std::move(*problem);
    database_.time = text_of(std::get<json>(value), "modified");
    if (database_.time.empty() || database_.time.size() > kTimeBytesMax) {
      return corrupt(std::string(kDbIndex) + " names no time");
    }
    return std::nullopt;
  }

  /// The id of a list's item, whose file must be there.
  std::variant<std::string, Problem> named(std::string_view path, const json& item) const {
    std::string id = text_of(item, "id");
    if (!is_id(id)) return corrupt(std::string(path) + " names no id where one belongs");
    if (!database_.files.contains(file_of(id))) {
      return corrupt(std::string(path) + " names " + id + ", but there is no such file " +
                     file_of(id));
    }
    return id;
  }

  std::optional<Problem> vulns() {
    auto value = index(kVulnsIndex);
    if (auto* problem = std::get_if<Problem>(&value)) return std::move(*problem);
    const json& list = std::get<json>(value);
    if (!list.is_array()) return corrupt(std::string(kVulnsIndex) + " is no list");
    for (const json& item : list) {
      auto id = named(kVulnsIndex, item);
      if (auto* problem = std::get_if<Problem>(&id)) return std::move(*problem);
      if (!listed_.insert(std::get<std::string>(id)).second) {
        return corrupt(std::string(kVulnsIndex) + " names " + std::get<std::string>(id) + " twice");
      }
    }
    return std::nullopt;
  }

  std::optional<Problem> modules() {
    auto value = index(kModulesIndex);
    if (auto* problem = std::get_if<Problem>(&value)) return std::move(*problem);
    const json& list = std::get<json>(value);
    if (!list.is_array()) return corrupt(std::string(kModulesIndex) + " is no list");
    for (const json& module : list) {
      const std::string path = text_of(module, "path");
      if (path.empty()) return corrupt(std::string(kModulesIndex) + " names no module");
      for (const json& item : list_of(module, "vulns")) {
        auto id = named(kModulesIndex, item);
        if (auto* problem = std::get_if<Problem>(&id)) return std::move(*problem);
        of_module_.emplace(path, std::move(std::get<std::string>(id)));
      }
    }
    return std::nullopt;
  }

  std::optional<Problem> entries() {
    for (const auto& [path, bytes] : database_.files) {
      const std::string id(id_of(path));
      if (id.empty()) continue;
      ++database_.entries;
      const json entry = json::parse(bytes, nullptr, false);
      if (!entry.is_object()) return corrupt(path + " is no JSON object");
      if (text_of(entry, "id") != id) return corrupt(path + " is an entry of another name");
      if (!listed_.contains(id)) return corrupt(path + " is in no index");
      for (const json& affected : list_of(entry, "affected")) {
        const auto package = affected.is_object() ? affected.find("package") : affected.end();
        if (!affected.is_object() || package == affected.end()) continue;
        const std::string module = text_of(*package, "name");
        if (module.empty() || of_module_.contains({module, id})) continue;
        return corrupt(std::string(kModulesIndex) + " doesn't name " + id + " for module " +
                       shown(module));
      }
    }
    return std::nullopt;
  }

  Database& database_;
  std::set<std::string> listed_;
  std::set<std::pair<std::string, std::string>> of_module_;
};

// ---- tar (ustar): all that matters is a name and a size
// ----------------------------------------------

constexpr std::size_t kBlock = 512;

void put_octal(std::string& header, std::size_t at, std::size_t width, std::uint64_t value) {
  for (std::size_t i = width - 1; i-- > 0;) {
    header[at + i] = static_cast<char>('0' + (value & 7U));
    value >>= 3U;
  }
}

std::string tar_header(const std::string& path, std::uint64_t size) {
  std::string header(kBlock, '\0');
  header.replace(0, path.size(), path);
  put_octal(header, 100, 8, 0444);
  put_octal(header, 108, 8, 0);
  put_octal(header, 116, 8, 0);
  put_octal(header, 124, 12, size);
  put_octal(header, 136, 12, 0);
  header.replace(148, 8, 8, ' ');
  header[156] = '0';
  header.replace(257, 8,
                 std::string("ustar\0"
                             "00",
                             8));
  std::uint64_t sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put_octal(header, 148, 7, sum);
  header[154] = '\0';
  header[155] = ' ';
  return header;
}

}  // namespace

bool Builder::is_allowed(std::string_view path) {
  return path == kDbIndex || path == kModulesIndex || path == kVulnsIndex || !id_of(path).empty();
}

std::optional<Problem> Builder::add(std::string path, std::string bytes) {
  if (!is_allowed(path)) {
    return corrupt(shown(path) + " does not belong into a vulnerability database");
  }
  if (bytes.size() > limits_.file_bytes) return corrupt(shown(path) + " is too large");
  if (database_.files.size() >= limits_.files) return corrupt("it holds too many files");
  database_.bytes += bytes.size();
  if (database_.bytes > limits_.total_bytes) return corrupt("it is too large");
  const auto [at, fresh] = database_.files.emplace(std::move(path), std::move(bytes));
  if (!fresh) return corrupt(shown(at->first) + " is there twice");
  return std::nullopt;
}

std::variant<Database, Problem> Builder::finish() {
  if (auto problem = Consistency(database_).check()) return *std::move(problem);
  Sha256 id;
  for (const auto& [path, bytes] : database_.files) {
    id.update(path + " " + sha256(bytes).hex() + "\n");
  }
  database_.id = id.finish().hex();
  return std::move(database_);
}

std::string to_tar(const Database& database) {
  std::string tar;
  tar.reserve(database.bytes + (database.files.size() * 2 + 2) * kBlock);
  for (const auto& [path, bytes] : database.files) {
    tar += tar_header(path, bytes.size());
    tar += bytes;
    tar.append((kBlock - bytes.size() % kBlock) % kBlock, '\0');
  }
  tar.append(2 * kBlock, '\0');
  return tar;
}

}  // namespace cupel::vulndb
