#include "worker/fs/workspace_record.hpp"

#include "common/core/json.hpp"
#include "common/core/task.hpp"

#include <nlohmann/json.hpp>

#include <utility>
#include <vector>

namespace cupel::worker {
namespace {

using nlohmann::json;

/// Paths are bytes and JSON is text: what is no plain ASCII becomes %XX.
std::string escaped(const std::string& path) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '%') {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4U];
      out += kDigits[byte & 15U];
    }
  }
  return out;
}

std::string unescaped(const std::string& text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

json paths_to_json(const std::vector<std::string>& paths) {
  json list = json::array();
  for (const auto& path : paths) list.push_back(escaped(path));
  return list;
}

std::vector<std::string> paths_from_json(const json& list) {
  std::vector<std::string> paths;
  for (const auto& item : list) paths.push_back(unescaped(item.get<std::string>()));
  return paths;
}

/// Facts travel in the form of a result, which has one already.
json unit_to_json(const UnitWorkspace& unit) {
  TaskResult facts;
  facts.modules = unit.facts;
  facts.findings = unit.findings;
  return {{"source", unit.source},
          {"modcache", unit.modcache},
          {"unit", to_json(unit.unit)},
          {"facts", to_json(facts)}};
}

Result<UnitWorkspace> unit_from_json(const json& value) {
  UnitWorkspace unit;
  unit.source = value.at("source").get<std::string>();
  unit.modcache = value.at("modcache").get<std::string>();
  auto info = cupel::unit_from_json(value.at("unit"));
  if (!info) return info.error();
  auto facts = result_from_json(value.at("facts"));
  if (!facts) return facts.error();
  if (!facts->modules) return Error{Errc::bad_value, "unit without facts", {}, {}};
  unit.unit = *std::move(info);
  unit.facts = *std::move(facts->modules);
  unit.findings = std::move(facts->findings);
  return unit;
}

Result<WorkspaceRecord> from_json(const json& value) {
  WorkspaceRecord record;
  record.repository.value = value.at("repository").get<std::uint64_t>();
  record.commit = value.at("commit").get<std::string>();
  record.source.snapshot = value.at("snapshot").get<std::string>();
  const json& notes = value.at("notes");
  record.source.notes.submodules = paths_from_json(notes.at("submodules"));
  record.source.notes.lfs_pointers = paths_from_json(notes.at("lfs_pointers"));
  record.source.notes.escaping_links = paths_from_json(notes.at("escaping_links"));
  auto facts = result_from_json(value.at("facts"));
  if (!facts) return facts.error();
  if (!facts->source) return Error{Errc::bad_value, "workspace without facts", {}, {}};
  record.source.facts = *std::move(facts->source);
  for (const auto& [key, unit] : value.at("units").items()) {
    auto parsed = unit_from_json(unit);
    if (!parsed) return parsed.error();
    record.units.emplace(std::stoull(key), *std::move(parsed));
  }
  return record;
}

}  // namespace

std::string format_record(const WorkspaceRecord& record) {
  TaskResult facts;
  facts.source = record.source.facts;
  json units = json::object();
  for (const auto& [id, unit] : record.units) units[std::to_string(id)] = unit_to_json(unit);
  const SnapshotNotes& notes = record.source.notes;
  const json value = {{"repository", record.repository.value},
                      {"commit", record.commit},
                      {"snapshot", record.source.snapshot},
                      {"notes",
                       {{"submodules", paths_to_json(notes.submodules)},
                        {"lfs_pointers", paths_to_json(notes.lfs_pointers)},
                        {"escaping_links", paths_to_json(notes.escaping_links)}}},
                      {"facts", to_json(facts)},
                      {"units", units}};
  return value.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<WorkspaceRecord> parse_record(std::string_view text) {
  const json value = json::parse(text, nullptr, false);
  if (!value.is_object()) return Error{Errc::bad_value, "workspace record is no JSON", {}, {}};
  // The library reports a member of another type by throwing; here that is a damaged file.
  try {
    return from_json(value);
  } catch (const std::exception& error) {
    return Error{Errc::bad_value, "workspace record is damaged", capped_detail(error.what()), {}};
  }
}

}  // namespace cupel::worker
