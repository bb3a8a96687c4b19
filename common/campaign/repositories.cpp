#include "common/campaign/parse_context.hpp"
#include "common/core/limits.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <utility>

namespace cupel::campaign {
namespace {

using text::Node;

constexpr std::array<std::string_view, 6> kSources = {"git",  "module", "path",
                                                      "file", "bundle", "refused"};

/// A relative path of a list file counts from that file, like everything a file says.
std::string beside(const std::string& list, const std::string& path) {
  const std::filesystem::path base = std::filesystem::path(list).parent_path();
  if (list == "-" || base.empty() || path.starts_with('/')) return path;
  return (base / path).lexically_normal().string();
}

ModuleSource module_source(const std::string& text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string::npos) return {text, ""};
  return {text.substr(0, at), text.substr(at + 1)};
}

/// Lines of a list file: SOURCE [REF], '#' begins a comment.
class ListFile {
 public:
  ListFile(Context& context, const RepositoryEntry& shared, std::string file, std::string ref)
      : context_(context), shared_(shared), file_(std::move(file)), ref_(std::move(ref)) {}

  void read(std::string_view text, std::vector<RepositoryEntry>& entries) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    for (int number = 1; !text.empty(); ++number) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      line(text.substr(0, end), number, entries);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (entries.size() > kRepositoriesPerCampaignMax || faults_ > 100) return;
    }
  }

 private:
  struct Word {
    std::string text;
    int column = 0;
  };

  static std::vector<Word> words_of(std::string_view line) {
    std::vector<Word> words;
    for (std::size_t at = 0; at < line.size();) {
      at = line.find_first_not_of(" \t\r", at);
      if (at == std::string_view::npos || line[at] == '#') break;
      const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
      words.push_back({std::string(line.substr(at, end - at)), static_cast<int>(at) + 1});
      at = end;
    }
    return words;
  }

  void line(std::string_view text, int number, std::vector<RepositoryEntry>& entries) {
    const std::vector<Word> words = words_of(text);
    if (words.empty()) return;
    if (words.size() > 2) return fault(number, words[2], "only a source and a ref stand on a line");
    const std::string ref = words.size() == 2 ? words[1].text : ref_;
    if (words.size() == 2) {
      if (const std::string wrong = ref_rule(ref); !wrong.empty())
        return fault(number, words[1], wrong);
    }
    RepositoryEntry entry = shared_;
    if (source(words[0], number, ref, words.size() == 2, entry))
      entries.push_back(std::move(entry));
  }

  bool source(const Word& word, int number, const std::string& ref, bool own_ref,
              RepositoryEntry& entry) {
    const std::string& text = word.text;
    const std::size_t at = text.rfind('@');
    if (text.starts_with('.') || text.starts_with('/')) {
      entry.source = LocalPath{beside(file_, text), ref};
      return good(number, word, path_rule(text));
    }
    const bool url = text.find("://") != std::string::npos;
    const bool scp = !url && text.find(':') != std::string::npos && git_url_rule(text).empty();
    if (url || scp) {
      entry.source = GitSource{text, ref};
      return good(number, word, git_url_rule(text));
    }
    if (at == std::string::npos) {
      fault(number, word,
            "\"" + text.substr(0, 120) + "\" is neither a URL, a path nor MODULE@VERSION",
            "write https://HOST/... for git, ./DIR for a folder, MODULE@VERSION for a published "
            "module");
      return false;
    }
    if (own_ref) {
      fault(number, word, "a module has its version behind '@' and takes no ref");
      return false;
    }
    entry.source = module_source(text);
    return good(number, word, module_rule(text));
  }

  bool good(int number, const Word& word, const std::string& wrong) {
    if (!wrong.empty()) fault(number, word, wrong);
    return wrong.empty();
  }

  void fault(int number, const Word& word, std::string message, std::string hint = "") {
    ++faults_;
    context_.diagnostics.push_back({file_ == "-" ? "standard input" : file_, number, word.column,
                                    Errc::bad_value, std::move(message), std::move(hint)});
  }

  Context& context_;
  const RepositoryEntry& shared_;
  std::string file_;
  std::string ref_;
  int faults_ = 0;
};

void read_list_file(Context& context, const Node& item, const std::string& file,
                    const RepositoryEntry& shared, std::vector<RepositoryEntry>& entries) {
  if (context.read_list == nullptr || !*context.read_list) {
    context.add(item, Errc::not_supported,
                "repositories: a list file can only be read by the client",
                "submit with 'cupel run', which reads it");
    return;
  }
  const auto text = (*context.read_list)(file);
  if (!text) {
    context.add(item, text.error().code, "repositories: " + text.error().what, text.error().detail);
    return;
  }
  const std::size_t before = entries.size();
  const std::size_t faults = context.diagnostics.size();
  ListFile(context, shared, file, text_at(&item, "ref")).read(*text, entries);
  if (entries.size() == before && context.diagnostics.size() == faults) {
    context.add(item, Errc::no_repositories, "repositories: " + file + " names no repository");
  }
}

/// The one source key of an item; nullopt (and a fault) where there is none or more than one.
std::optional<std::string> source_key(Context& context, const Node& item, const std::string& path) {
  std::optional<std::string> found;
  for (const std::string_view key : kSources) {
    const Node* value = child_at(&item, key);
    if (value == nullptr || value->is_empty()) continue;
    if (found) {
      context.add(*value, Errc::bad_value,
                  at_path(path, "has both " + *found + " and " + std::string(key)),
                  "write one item for each source");
      return std::nullopt;
    }
    found = std::string(key);
  }
  if (!found) {
    // A source of a later version was named by its own fault.
    const bool known = item.find("catalog") != nullptr || item.find("campaign") != nullptr;
    if (!known)
      context.add(item, Errc::missing_key, at_path(path, "has none of git, module, path, file"));
  }
  return found;
}

void check_companions(Context& context, const Node& item, const std::string& key,
                      const std::string& path) {
  const auto refuse = [&](std::string_view companion) {
    const Node* value = child_at(&item, companion);
    if (value == nullptr || value->is_empty()) return;
    context.add(*value, Errc::bad_value,
                at_path(path, std::string(companion) + " doesn't go with " + key));
  };
  if (key == "module" || key == "bundle" || key == "refused") refuse("ref");
  if (key == "refused") refuse("subdirs");
  if (key != "bundle") {
    refuse("commit");
    refuse("name");
  }
}

void extract_item(Context& context, const Node& item, const std::string& path,
                  std::vector<RepositoryEntry>& entries) {
  const auto key = source_key(context, item, path);
  if (!key) return;
  check_companions(context, item, *key, path);
  RepositoryEntry entry;
  entry.subdirs = words_at(&item, "subdirs");
  entry.upgrade = targets_at(context, child_at(&item, "upgrade"), path + ".upgrade");
  entry.place = {item.line, item.column};
  const std::string value = text_at(&item, *key);
  const std::string ref = text_at(&item, "ref");
  if (*key == "file") return read_list_file(context, item, value, entry, entries);
  if (*key == "git") entry.source = GitSource{value, ref};
  if (*key == "module") entry.source = module_source(value);
  if (*key == "path") entry.source = LocalPath{value, ref};
  if (*key == "bundle") {
    const std::string commit = text_at(&item, "commit");
    if (commit.empty())
      context.add(item, Errc::missing_key, at_path(path, "\"commit\" is missing"));
    entry.source =
        BundleSource{Digest::parse(value).value_or(Digest{}), commit, text_at(&item, "name")};
  }
  if (*key == "refused") {
    const auto reason = parse_name<Reason>(text_at(&item, "refused.reason"));
    entry.source =
        RefusedSource{text_at(&item, "refused.name"), reason.value_or(Reason::source_not_allowed),
                      text_at(&item, "refused.message"),
                      parse_name<FindingKind>(text_at(&item, "refused.finding"))
                          .value_or(FindingKind::acquire_error)};
  }
  entries.push_back(std::move(entry));
}

}  // namespace

std::vector<RepositoryEntry> extract_repositories(Context& context, const Node* list) {
  std::vector<RepositoryEntry> entries;
  if (list == nullptr || !list->is_list()) return entries;
  if (list->items.empty()) {
    context.add(*list, Errc::no_repositories, "repositories: the list is empty");
  }
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    if (!list->items[i].is_map()) continue;  // reported by the check
    extract_item(context, list->items[i], "repositories[" + std::to_string(i) + "]", entries);
  }
  if (entries.size() > kRepositoriesPerCampaignMax) {
    context.add(
        *list, Errc::too_large,
        "repositories: more than " + std::to_string(kRepositoriesPerCampaignMax) + " entries");
  }
  return entries;
}

}  // namespace cupel::campaign
