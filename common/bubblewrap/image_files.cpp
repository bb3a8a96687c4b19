#include "common/bubblewrap/image_files.hpp"

#include "common/core/digest.hpp"
#include "common/fs/beneath.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <map>
#include <sstream>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace cupel::bubblewrap {

namespace {

namespace stdfs = std::filesystem;

constexpr std::size_t kPieceBytes = std::size_t{256} * 1024;
constexpr std::size_t kWordsMax = 5;
constexpr const char* kNoContent = "-";

/// What a line says of its path.
struct Entry {
  std::uint32_t mode = 0;
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::string content;
};
using Entries = std::map<std::string, Entry, std::less<>>;

Error unreadable(const stdfs::path& path) {
  return {Errc::io_error, "can't read " + path.string(), std::strerror(errno), {}};
}

Result<std::string> digest_of(const stdfs::path& file) {
  const fs::Fd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!opened) return unreadable(file);
  Sha256 sum;
  std::vector<char> piece(kPieceBytes);
  for (;;) {
    const ssize_t count = ::read(opened.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return unreadable(file);
    if (count == 0) return sum.finish().hex();
    sum.update({piece.data(), static_cast<std::size_t>(count)});
  }
}

Result<Entry> look_at(const stdfs::path& path) {
  struct stat facts{};
  if (::lstat(path.c_str(), &facts) != 0) return unreadable(path);
  Entry entry{facts.st_mode, facts.st_uid, facts.st_gid, kNoContent};
  if (S_ISREG(facts.st_mode)) {
    auto digest = digest_of(path);
    if (!digest) return digest.error();
    entry.content = *std::move(digest);
  } else if (S_ISLNK(facts.st_mode)) {
    std::error_code ec;
    const stdfs::path target = stdfs::read_symlink(path, ec);
    if (ec) return Error{Errc::io_error, "can't read " + path.string(), ec.message(), {}};
    entry.content = sha256(target.native()).hex();
  }
  return entry;
}

Result<Entries> look_at_all(const stdfs::path& root) {
  Entries all;
  auto top = look_at(root);
  if (!top) return top.error();
  all.emplace(".", *std::move(top));
  std::error_code ec;
  for (stdfs::recursive_directory_iterator at(root, ec), end; !ec && at != end; at.increment(ec)) {
    auto entry = look_at(at->path());
    if (!entry) return entry.error();
    all.emplace(at->path().lexically_relative(root).string(), *std::move(entry));
  }
  if (ec) return Error{Errc::io_error, "can't list " + root.string(), ec.message(), {}};
  return all;
}

std::string quoted(const std::string& path) {
  return nlohmann::json(path).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// By quoted path; a line that is none is an entry under its whole text.
Entries parse(std::string_view text) {
  Entries all;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Entry entry;
    std::string path;
    words >> std::oct >> entry.mode >> std::dec >> entry.user >> entry.group >> entry.content;
    std::getline(words >> std::ws, path);
    if (path.empty()) path = line;
    all.insert_or_assign(std::move(path), std::move(entry));
  }
  return all;
}

std::string octal(std::uint32_t mode) {
  std::ostringstream text;
  text << '0' << std::oct << (mode & ~static_cast<std::uint32_t>(S_IFMT));
  return text.str();
}

std::string owner(const Entry& entry) {
  return std::to_string(entry.user) + ':' + std::to_string(entry.group);
}

/// Empty where they are equal.
std::string difference(const Entry& was, const Entry& is) {
  if ((was.mode & S_IFMT) != (is.mode & S_IFMT)) return "is of another type";
  std::string words;
  const auto add = [&words](const std::string& more) {
    words += (words.empty() ? "" : ", ") + more;
  };
  if (was.content != is.content) add(S_ISLNK(is.mode) ? "leads elsewhere" : "has another content");
  if (was.mode != is.mode) add("has mode " + octal(is.mode) + " instead of " + octal(was.mode));
  if (was.user != is.user || was.group != is.group)
    add("belongs to " + owner(is) + " instead of " + owner(was));
  return words;
}

}  // namespace

Result<std::string> list_files(const stdfs::path& root) {
  const auto all = look_at_all(root);
  if (!all) return all.error();
  std::ostringstream text;
  for (const auto& [path, entry] : *all) {
    text << std::oct << entry.mode << std::dec << ' ' << entry.user << ' ' << entry.group << ' '
         << entry.content << ' ' << quoted(path) << '\n';
  }
  return text.str();
}

ImageDamage compare_files(std::string_view listed, std::string_view found) {
  const Entries was = parse(listed);
  const Entries is = parse(found);
  ImageDamage damage;
  const auto note = [&damage](const std::string& path, const std::string& words) {
    ++damage.count;
    if (damage.first.size() < kWordsMax) damage.first.push_back(path + ' ' + words);
  };
  for (const auto& [path, entry] : was) {
    const auto now = is.find(path);
    const std::string words = now == is.end() ? "is missing" : difference(entry, now->second);
    if (!words.empty()) note(path, words);
  }
  for (const auto& [path, entry] : is) {
    if (!was.contains(path)) note(path, "was added");
  }
  return damage;
}

}  // namespace cupel::bubblewrap
