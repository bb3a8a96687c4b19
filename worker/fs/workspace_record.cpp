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

json edits_to_json(const TreeEdits& edits) {
  json list = json::array();
  for (const auto& [path, edit] : edits) {
    json one = {{"path", escaped(path)}, {"executable", edit.executable}};
    if (edit.content) one["content"] = escaped(*edit.content);
    list.push_back(std::move(one));
  }
  return list;
}

TreeEdits edits_from_json(const json& list) {
  TreeEdits edits;
  for (const json& one : list) {
    FileEdit edit;
    edit.executable = one.at("executable").get<bool>();
    if (one.contains("content")) edit.content = unescaped(one.at("content").get<std::string>());
    edits.emplace(unescaped(one.at("path").get<std::string>()), std::move(edit));
  }
  return edits;
}

/// Facts travel in the form of a result, which has one already.
json unit_to_json(const UnitWorkspace& unit) {
  TaskResult facts;
  facts.modules = unit.facts;
  facts.findings = unit.findings;
  return {{"source", unit.source},
          {"modcache", unit.modcache},
          {"unit", to_json(unit.unit)},
          {"acquired", unit.acquired},
          {"uncompleted", edits_to_json(unit.uncompleted)},
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
  unit.acquired = value.value("acquired", true);
  if (const auto edits = value.find("uncompleted"); edits != value.end()) {
    unit.uncompleted = edits_from_json(*edits);
  }
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
    const auto slash = key.find('/');
    const std::uint64_t slot = slash == std::string::npos ? 0 : std::stoull(key.substr(slash + 1));
    record.units.emplace(std::pair(std::stoull(key), static_cast<WorkspaceSlot>(slot)),
                         *std::move(parsed));
  }
  return record;
}

}  // namespace

std::string format_record(const WorkspaceRecord& record) {
  TaskResult facts;
  facts.source = record.source.facts;
  json units = json::object();
  for (const auto& [key, unit] : record.units) {
    const std::string slot = key.second == 0 ? "" : '/' + std::to_string(key.second);
    units[std::to_string(key.first) + slot] = unit_to_json(unit);
  }
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

std::string format_journal(const PromotionJournal& journal) {
  const Promotion& promotion = journal.promotion;
  const json value = {{"repository", promotion.repository.value},
                      {"commit", promotion.commit},
                      {"unit", promotion.unit.value},
                      {"slot", promotion.slot},
                      {"base", promotion.base},
                      {"base_tree", promotion.base_tree},
                      {"edits", edits_to_json(promotion.edits)},
                      {"workspace", unit_to_json(promotion.workspace)},
                      {"written", journal.written},
                      {"after", journal.after},
                      {"after_tree", journal.after_tree}};
  return value.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<PromotionJournal> parse_journal(std::string_view text) {
  const json value = json::parse(text, nullptr, false);
  if (!value.is_object()) return Error{Errc::bad_value, "promotion journal is no JSON", {}, {}};
  // As below: a member of another type is a damaged file.
  try {
    PromotionJournal journal;
    Promotion& promotion = journal.promotion;
    promotion.repository.value = value.at("repository").get<std::uint64_t>();
    promotion.commit = value.at("commit").get<std::string>();
    promotion.unit.value = value.at("unit").get<std::uint64_t>();
    promotion.slot = value.at("slot").get<WorkspaceSlot>();
    promotion.base = value.at("base").get<std::string>();
    promotion.base_tree = value.at("base_tree").get<std::string>();
    promotion.edits = edits_from_json(value.at("edits"));
    auto workspace = unit_from_json(value.at("workspace"));
    if (!workspace) return workspace.error();
    promotion.workspace = *std::move(workspace);
    journal.written = value.at("written").get<bool>();
    journal.after = value.at("after").get<std::string>();
    journal.after_tree = value.at("after_tree").get<std::string>();
    return journal;
  } catch (const std::exception& error) {
    return Error{Errc::bad_value, "promotion journal is damaged", capped_detail(error.what()), {}};
  }
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
