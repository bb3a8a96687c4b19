#include "cli/core/retry.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace cupel::cli {
namespace {

std::string source_key(const json& unit) {
  const auto found = unit.is_object() ? unit.find("source") : unit.end();
  if (!unit.is_object() || found == unit.end() || !found->is_object())
    return text_of(unit, "repository");
  const json& source = *found;
  for (const char* member : {"url", "artifact", "path"}) {
    const std::string text = text_of(source, member);
    if (!text.empty()) return std::string(member) + " " + text + " " + text_of(source, "version");
  }
  return text_of(unit, "repository");
}

/// What is upgraded in the unit's repository alone; null where it is asked what all are.
json own_upgrade(const json& unit, const json& document) {
  const json& entries = list_of(document, "repositories");
  const double ordinal = number_of(unit, "ordinal", -1);
  if (ordinal < 0 || ordinal >= static_cast<double>(entries.size())) return nullptr;
  return list_of(entries[static_cast<std::size_t>(ordinal)], "upgrade");
}

/// Which repository a unit is of, whatever ref or pin it was asked by. A repository that is asked
/// two questions counts as two.
std::string repository_key(const json& unit, const json& document) {
  const json own = own_upgrade(unit, document);
  return source_key(unit) +
         (own.empty() ? "" : " " + own.dump(-1, ' ', false, json::error_handler_t::replace));
}

std::string unit_key(const json& unit, const json& document) {
  return repository_key(unit, document) + "\n" + text_of(unit, "dir");
}

/// An entry of `repositories`; nothing for a source that was refused.
std::optional<json> retry_entry_of(const json& unit) {
  const auto found = unit.find("source");
  if (found == unit.end() || !found->is_object()) return std::nullopt;
  const json& source = *found;
  const std::string type = text_of(source, "type");
  const std::string commit = text_of(unit, "commit");
  if (type == "git") {
    return json{{"git", text_of(source, "url")},
                {"ref", commit.empty() ? text_of(source, "ref") : commit}};
  }
  if (type == "bundle") {
    return json{{"bundle", text_of(source, "artifact")},
                {"commit", text_of(source, "commit")},
                {"name", text_of(source, "name")}};
  }
  if (type == "module") {
    return json{{"module", text_of(source, "path") + "@" + text_of(source, "version")}};
  }
  return std::nullopt;
}

}  // namespace

Result<json> retry_document(const ReportData& earlier, const std::vector<std::string>& verdicts) {
  if (!earlier.document.is_object()) {
    return Error{Errc::bad_value, "the campaign's file is not known", "", ""};
  }
  struct Asked {
    json entry;
    std::set<std::string> dirs;
  };
  std::vector<std::string> order;
  std::map<std::string, Asked> asked;
  for (const json& unit : earlier.results) {
    if (std::ranges::find(verdicts, verdict_of(unit)) == verdicts.end()) continue;
    auto entry = retry_entry_of(unit);
    if (!entry) continue;
    const std::string key = repository_key(unit, earlier.document);
    const auto [known, fresh] = asked.try_emplace(key);
    if (fresh) {
      order.push_back(key);
      known->second.entry = *std::move(entry);
      const json own = own_upgrade(unit, earlier.document);
      if (!own.empty()) known->second.entry["upgrade"] = own;
    }
    // A repository that was never read has no folders to name.
    if (!text_of(unit, "commit").empty()) known->second.dirs.insert(text_of(unit, "dir"));
  }
  if (order.empty()) {
    std::string words;
    for (const std::string& verdict : verdicts) words += (words.empty() ? "" : ", ") + verdict;
    return Error{Errc::no_repositories, "no unit is " + words, "", "'cupel results' shows them"};
  }
  json document = earlier.document;
  json repositories = json::array();
  for (const std::string& key : order) {
    Asked& one = asked.at(key);
    one.dirs.erase("");
    if (!one.dirs.empty()) one.entry["subdirs"] = one.dirs;
    repositories.push_back(std::move(one.entry));
  }
  document["repositories"] = std::move(repositories);
  return Result<json>(boost::system::in_place_value, std::move(document));
}

ReportData merged(const ReportData& earlier, ReportData later) {
  std::set<std::string> again;
  std::set<std::string> asked;
  std::set<std::string> unreadable;
  for (const json& unit : later.results) {
    again.insert(unit_key(unit, later.document));
    asked.insert(repository_key(unit, later.document));
    if (text_of(unit, "commit").empty()) unreadable.insert(repository_key(unit, later.document));
  }
  for (const json& unit : earlier.results) {
    // A repository that can't be had has one unit that stands for all of its own.
    const std::string key = repository_key(unit, earlier.document);
    const bool stood_for_all = text_of(unit, "commit").empty() && asked.contains(key);
    if (again.contains(unit_key(unit, earlier.document)) || unreadable.contains(key) ||
        stood_for_all)
      continue;
    later.results.push_back(unit);
  }
  later.campaign["merged_with"] = text_of(earlier.campaign, "id");
  return later;
}

}  // namespace cupel::cli
