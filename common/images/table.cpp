#include "common/images/table.hpp"

#include "common/core/digest.hpp"
#include "common/images/builtin.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace cupel::images {
namespace {

using nlohmann::json;

Error bad(std::string what) {
  return {.code = Errc::bad_value,
          .what = "toolchain table: " + std::move(what),
          .detail = {},
          .hint = {}};
}

/// Text of a member; empty where the member is absent or no text.
std::string text(const json& object, const char* member) {
  const auto found = object.find(member);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

bool is_digest(std::string_view digest) {
  return digest.starts_with("sha256:") && Digest::parse(digest).has_value();
}

Result<ImageEntry> parse_entry(const json& object) {
  if (!object.is_object()) return bad("an entry is no mapping");
  ImageEntry entry{.minor = text(object, "minor"),
                   .go = text(object, "go"),
                   .registry = {},
                   .toolchain = {},
                   .scanner = {}};
  const auto minor = GoVersion::parse(entry.minor);
  const auto go = GoVersion::parse(entry.go);
  if (!minor || minor->stage != GoVersion::Stage::language) {
    return bad("minor '" + entry.minor + "' is not like 1.26");
  }
  if (!go || go->minor_text() != entry.minor || go->stage == GoVersion::Stage::language) {
    return bad(entry.minor + ": go '" + entry.go + "' is no release of it");
  }
  if (const auto registry = object.find("registry"); registry != object.end()) {
    entry.registry = {text(*registry, "name"), text(*registry, "tag"), text(*registry, "digest")};
    if (entry.registry.name.empty() || !is_digest(entry.registry.digest)) {
      return bad(entry.minor + ": registry needs a name and a sha256 digest");
    }
  }
  if (const auto module = object.find("toolchain"); module != object.end()) {
    entry.toolchain = {text(*module, "path"), text(*module, "version"), text(*module, "h1"),
                       text(*module, "zip_sha256")};
    const ToolchainModule& t = entry.toolchain;
    if (t.path.empty() || t.version.empty() || !t.h1.starts_with("h1:") ||
        !Digest::parse(t.zip_sha256)) {
      return bad(entry.minor + ": toolchain needs path, version, h1 and zip_sha256");
    }
  }
  if (const auto scanner = object.find("scanner"); scanner != object.end()) {
    entry.scanner = {text(*scanner, "package"), text(*scanner, "module"), text(*scanner, "version"),
                     text(*scanner, "h1")};
    const ToolPin& pin = entry.scanner;
    if (pin.module.empty() || !pin.package.starts_with(pin.module) ||
        !pin.version.starts_with("v") || !pin.sum.starts_with("h1:")) {
      return bad(entry.minor + ": scanner needs package, module, version and h1");
    }
  }
  return entry;
}

}  // namespace

const ImageEntry* Table::find(std::string_view version) const {
  const auto found = std::ranges::find_if(entries, [&](const ImageEntry& entry) {
    return entry.minor == version || entry.go == version;
  });
  return found == entries.end() ? nullptr : &*found;
}

Result<Table> parse_table(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object() || document.value("version", json()) != 1) {
    return bad("not a table of version 1");
  }
  const auto list = document.find("entries");
  if (list == document.end() || !list->is_array() || list->empty() || list->size() > 100) {
    return bad("'entries' must hold 1 to 100 entries");
  }
  Table table;
  for (const json& object : *list) {
    auto entry = parse_entry(object);
    if (!entry) return entry.error();
    if (!table.entries.empty() &&
        !(GoVersion::parse(table.entries.back().minor) < GoVersion::parse(entry->minor))) {
      return bad(entry->minor + " is out of order");
    }
    table.entries.push_back(std::move(*entry));
  }
  return table;
}

const Table& builtin_table() {
  static const Table table = parse_table(builtin_table_json()).value();
  return table;
}

}  // namespace cupel::images
