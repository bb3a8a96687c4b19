#include "common/net/trust_list.hpp"

#include "common/fs/files.hpp"
#include "common/net/text_lines.hpp"

#include <algorithm>
#include <sys/stat.h>

namespace cupel::net {
namespace {

constexpr std::uint64_t kFileBytesMax = 4 * 1024 * 1024;
constexpr std::size_t kWorkersMax = 10'000;
constexpr std::size_t kLabelsMax = 32;

bool made_of(std::string_view text, std::string_view also, std::size_t length_max) {
  return !text.empty() && text.size() <= length_max && std::ranges::all_of(text, [also](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || also.find(c) != also.npos;
  });
}

constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

bool is_name(std::string_view text) {
  return made_of(text, std::string(kUpper) + "._-", 64);
}
bool is_label_key(std::string_view text) {
  return made_of(text, "._/-", 64);
}
bool is_label_value(std::string_view text) {
  return made_of(text, std::string(kUpper) + "._/:-", 128);
}

Error at(std::string_view file, std::size_t line, std::size_t column, std::string what,
         Errc code = Errc::bad_config) {
  return {.code = code,
          .what = place(file, line, column) + ": " + std::move(what),
          .detail = {},
          .hint = "a line is: NAME PUBLIC-KEY [label=value ...]"};
}

Result<std::pair<PublicKey, TrustedWorker>> parse_line(const Line& line, std::string_view file) {
  const std::vector<Word>& words = line.words;
  TrustedWorker worker;
  worker.name = words[0].text;
  if (words.size() < 2) {
    return at(file, line.number, words[0].column, "no key behind the name '" + worker.name + "'");
  }
  const auto key = PublicKey::from_z85(words[1].text);
  if (!key || key->empty()) {
    return at(file, line.number, words[1].column,
              "not a public key: expected 40 characters of Z85");
  }
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string_view text = words[i].text;
    const std::size_t equals = text.find('=');
    const std::string label_key(text.substr(0, equals));
    if (equals == std::string_view::npos) {
      return at(file, line.number, words[i].column,
                "'" + label_key + "' is no label: expected key=value");
    }
    if (!worker.labels.emplace(label_key, text.substr(equals + 1)).second) {
      return at(file, line.number, words[i].column, "the label '" + label_key + "' stands twice");
    }
  }
  return std::pair{*key, std::move(worker)};
}

Result<std::string> read_list(const std::filesystem::path& file) {
  auto text = fs::read_file(file, kFileBytesMax);
  if (!text && text.error().code == Errc::not_found) return std::string();
  if (!text) return text;
  struct stat info{};
  if (::stat(file.c_str(), &info) == 0 && (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Error{.code = Errc::key_permissions,
                 .what = "others may write the list of trusted workers, " + file.string(),
                 .detail = {},
                 .hint = "chmod go-w the file"};
  }
  return text;
}

Result<fs::FileLock> lock_beside(const std::filesystem::path& file) {
  return fs::FileLock::take(file.string() + ".lock");
}

std::string line_of(const PublicKey& key, const TrustedWorker& worker) {
  std::string line = worker.name + "  " + key.z85();
  for (const auto& [label, value] : worker.labels) {
    line += "  ";
    line += label;
    line += '=';
    line += value;
  }
  return line + "\n";
}

}  // namespace

Result<TrustList> TrustList::parse(std::string_view text, std::string_view file_name) {
  TrustList list;
  for (const Line& line : lines_of(text)) {
    if (line.words.empty()) continue;
    auto entry = parse_line(line, file_name);
    if (!entry) return std::move(entry).error();
    if (auto added = list.add(entry->first, std::move(entry->second)); !added) {
      return at(file_name, line.number, line.words[0].column, added.error().what);
    }
  }
  return list;
}

Result<TrustList> TrustList::load(const std::filesystem::path& file) {
  const auto text = read_list(file);
  if (!text) return text.error();
  return parse(*text, file.string());
}

const TrustedWorker* TrustList::find(const PublicKey& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : &found->second;
}

std::vector<std::pair<PublicKey, TrustedWorker>> TrustList::entries() const {
  std::vector<std::pair<PublicKey, TrustedWorker>> all(by_key_.begin(), by_key_.end());
  std::ranges::sort(all, {}, [](const auto& entry) { return entry.second.name; });
  return all;
}

Result<void> TrustList::add(const PublicKey& key, TrustedWorker worker) {
  const auto refuse = [](Errc code, std::string what) {
    return Error{.code = code, .what = std::move(what), .detail = {}, .hint = {}};
  };
  if (key.empty()) return refuse(Errc::bad_value, "an empty key can't be trusted");
  if (!is_name(worker.name)) {
    return refuse(Errc::bad_value,
                  "a worker's name is 1 to 64 of A-Z a-z 0-9 . _ -, not '" + worker.name + "'");
  }
  if (worker.labels.size() > kLabelsMax) {
    return refuse(Errc::bad_value, "more than " + std::to_string(kLabelsMax) + " labels");
  }
  for (const auto& [label, value] : worker.labels) {
    if (!is_label_key(label) || !is_label_value(value)) {
      return refuse(Errc::bad_value, "not a label: '" + label + "=" + value + "'");
    }
  }
  if (by_key_.size() >= kWorkersMax) {
    return refuse(Errc::bad_value, "more than " + std::to_string(kWorkersMax) + " workers");
  }
  if (const TrustedWorker* const other = find(key)) {
    return refuse(Errc::already_exists, "the key is trusted already, as '" + other->name + "'");
  }
  if (!names_.insert(worker.name).second) {
    return refuse(Errc::already_exists, "the name '" + worker.name + "' stands for another key");
  }
  by_key_.emplace(key, std::move(worker));
  return {};
}

Result<void> add_trusted(const std::filesystem::path& file, const PublicKey& key,
                         const TrustedWorker& worker) {
  const auto lock = lock_beside(file);
  if (!lock) return lock.error();
  auto text = read_list(file);
  if (!text) return std::move(text).error();
  auto list = TrustList::parse(*text, file.string());
  if (!list) return std::move(list).error();
  if (auto added = list->add(key, worker); !added) return added;
  if (text->empty())
    *text = "# Workers that this coordinator admits: NAME PUBLIC-KEY [label=value ...]\n";
  if (text->back() != '\n') *text += '\n';
  *text += line_of(key, worker);
  return fs::write_file_durably(file, *text, 0644);
}

Result<std::pair<PublicKey, TrustedWorker>> remove_trusted(const std::filesystem::path& file,
                                                           std::string_view name_or_key) {
  const auto lock = lock_beside(file);
  if (!lock) return lock.error();
  const auto text = read_list(file);
  if (!text) return text.error();
  if (auto list = TrustList::parse(*text, file.string()); !list) return std::move(list).error();
  std::string kept;
  std::optional<std::pair<PublicKey, TrustedWorker>> removed;
  for (const Line& line : lines_of(*text)) {
    const bool wanted = line.words.size() >= 2 &&
                        (line.words[0].text == name_or_key || line.words[1].text == name_or_key);
    if (wanted && !removed) {
      removed = parse_line(line, file.string()).value();
    } else {
      kept += line.text;
      kept += '\n';
    }
  }
  if (!removed) {
    return Error{.code = Errc::not_found,
                 .what = "no trusted worker is called '" + std::string(name_or_key) + "' in " +
                         file.string(),
                 .detail = {},
                 .hint = {}};
  }
  if (auto written = fs::write_file_durably(file, kept, 0644); !written) return written.error();
  return *std::move(removed);
}

}  // namespace cupel::net
