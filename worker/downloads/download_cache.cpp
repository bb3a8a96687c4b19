#include "worker/downloads/download_cache.hpp"

#include "common/fs/files.hpp"
#include "worker/core/engine/run.hpp"
#include "worker/core/sumdb/tree.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cupel::worker {

namespace {

namespace stdfs = std::filesystem;

constexpr std::uint64_t kIndexBytesMax = 64ULL << 20U;
constexpr std::size_t kReadBytes = std::size_t{64} * 1024;
constexpr std::string_view kIndexTitle = "cupel download cache 1\n";
constexpr std::array kParts = {DownloadPart::info, DownloadPart::go_mod, DownloadPart::zip};
constexpr const char* kMarkerText =
    "Modules that the checksum database has proved; see docs/security.md of Cupel.\n";

std::size_t slot_in(DownloadPart part) {
  return static_cast<std::size_t>(part);
}

/// 0755 below a parent that only we enter: containers read it.
Result<void> ensure_readable_dir(const stdfs::path& directory) {
  if ((::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) ||
      ::chmod(directory.c_str(), 0755) != 0) {
    return Error{.code = errno == ENOSPC ? Errc::disk_full : Errc::io_error,
                 .what = "make " + directory.string(),
                 .detail = std::strerror(errno),
                 .hint = {}};
  }
  return {};
}

/// Nothing for what can't be read: that is damaged as well.
std::optional<Digest> digest_of(const stdfs::path& path) {
  const fs::Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return std::nullopt;
  Sha256 hash;
  std::array<char, kReadBytes> piece{};
  for (;;) {
    const ssize_t count = ::read(file.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) return hash.finish();
    hash.update(std::string_view(piece.data(), static_cast<std::size_t>(count)));
  }
}

std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields;
  for (;;) {
    const std::size_t end = line.find('\t');
    fields.emplace_back(line.substr(0, end));
    if (end == std::string_view::npos) return fields;
    line.remove_prefix(end + 1);
  }
}

}  // namespace

std::string_view ending(DownloadPart part) {
  switch (part) {
    case DownloadPart::info: return "info";
    case DownloadPart::go_mod: return "mod";
    case DownloadPart::zip: return "zip";
  }
  return "";
}

Result<std::unique_ptr<DownloadCache>> DownloadCache::open(stdfs::path directory,
                                                           DownloadLimits limits) {
  std::unique_ptr<DownloadCache> cache(new DownloadCache(std::move(directory), limits));
  if (auto made = fs::ensure_private_dir(cache->directory_); !made) return made.error();
  // What a crash left half-made.
  if (auto removed = fs::remove_tree(cache->staging()); !removed) return removed.error();
  if (auto made = fs::ensure_private_dir(cache->staging()); !made) return made.error();
  if (auto made = ensure_readable_dir(cache->mount()); !made) return made.error();
  if (auto loaded = cache->load(); !loaded) return loaded.error();
  cache->remove_unknown();
  auto marker = StagedFile::write(kMarkerText, cache->staging());
  if (!marker) return marker.error();
  if (auto placed = marker->move_to(cache->mount() / kDownloadsMarker); !placed) {
    return placed.error();
  }
  if (auto tidied = cache->tidy(); !tidied) return tidied.error();
  return cache;
}

stdfs::path DownloadCache::file_of(const sumdb::ModuleVersion& module, DownloadPart part) const {
  return mount() / (sumdb::file_stem(module) + "." + std::string(ending(part)));
}

Result<void> DownloadCache::load() {
  const auto index = fs::read_file(directory_ / "index", kIndexBytesMax);
  if (!index && index.error().code == Errc::not_found) return {};
  if (!index) return index.error();
  std::string_view text = *index;
  // Of another version, or damaged: then nothing is known, and all files go.
  if (!text.starts_with(kIndexTitle)) return {};
  text.remove_prefix(kIndexTitle.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto fields = fields_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (fields.size() != 3 + kDownloadParts) continue;
    auto module = sumdb::parse_escaped(sumdb::escaped(fields[0]), sumdb::escaped(fields[1]));
    CachedVersion entry;
    if (!module || !sumdb::parse_number(fields[2], UINT64_MAX / 2, entry.used)) continue;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kDownloadParts; ++i) {
      const std::string& field = fields[3 + i];
      const std::size_t colon = std::min(field.find(':'), field.size());
      const auto digest = Digest::parse(field.substr(std::min(colon + 1, field.size())));
      CachedFile file;
      if (!digest ||
          !sumdb::parse_number(field.substr(0, colon), limits_.file_bytes_max, file.size)) {
        continue;
      }
      file.digest = *digest;
      entry.files[i] = file;
      sum += file.size;
    }
    uses_ = std::max(uses_, entry.used);
    if (entries_.emplace(*std::move(module), entry).second) bytes_ += sum;
  }
  return {};
}

void DownloadCache::remove_unknown() const {
  std::set<stdfs::path> known;
  for (const auto& [module, entry] : entries_) {
    for (const DownloadPart part : kParts) {
      if (entry.files[slot_in(part)]) known.insert(file_of(module, part));
    }
  }
  std::vector<stdfs::path> unknown;
  std::error_code failure;
  for (stdfs::recursive_directory_iterator item(mount(), failure), end; !failure && item != end;
       item.increment(failure)) {
    if (!item->is_symlink(failure) && item->is_directory(failure)) continue;
    if (!known.contains(item->path())) unknown.push_back(item->path());
  }
  for (const stdfs::path& path : unknown) (void)fs::remove_tree(path);
}

bool DownloadCache::has(const sumdb::ModuleVersion& module, DownloadPart part) const {
  const std::scoped_lock held(lock_);
  const auto found = entries_.find(module);
  return found != entries_.end() && found->second.files[slot_in(part)].has_value();
}

void DownloadCache::used(const sumdb::ModuleVersion& module) {
  const std::scoped_lock held(lock_);
  const auto found = entries_.find(module);
  if (found != entries_.end()) found->second.used = ++uses_;
}

Result<void> DownloadCache::place(const sumdb::ModuleVersion& module, DownloadPart part,
                                  StagedFile file) {
  if (file.bytes() > limits_.file_bytes_max) {
    return Error{
        .code = Errc::too_large,
        .what = module.text() + ": more than " + std::to_string(limits_.file_bytes_max) + " bytes",
        .detail = {},
        .hint = {}};
  }
  const stdfs::path target = file_of(module, part);
  const CachedFile placed{.size = file.bytes(), .digest = file.digest()};
  // Under the lock, since a removal takes empty folders away.
  const std::scoped_lock held(lock_);
  stdfs::path folder = mount();
  for (const stdfs::path& name : target.parent_path().lexically_relative(mount())) {
    folder /= name;
    if (auto made = ensure_readable_dir(folder); !made) return made.error();
  }
  if (auto moved = file.move_to(target); !moved) return moved.error();
  CachedVersion& entry = entries_[module];
  std::optional<CachedFile>& slot = entry.files[slot_in(part)];
  bytes_ -= slot ? slot->size : 0;
  bytes_ += placed.size;
  slot = placed;
  entry.used = ++uses_;
  return {};
}

bool DownloadCache::whole(const sumdb::ModuleVersion& module, const CachedVersion& entry,
                          bool read_all) const {
  return std::ranges::all_of(kParts, [&](DownloadPart part) {
    const auto& file = entry.files[slot_in(part)];
    if (!file) return true;
    const stdfs::path path = file_of(module, part);
    struct stat facts{};
    if (::lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode) ||
        static_cast<std::uint64_t>(facts.st_size) != file->size) {
      return false;
    }
    return !read_all || digest_of(path) == file->digest;
  });
}

DownloadCache::Entries::iterator DownloadCache::remove(Entries::iterator entry) {
  for (const DownloadPart part : kParts) {
    const auto& file = entry->second.files[slot_in(part)];
    if (!file) continue;
    bytes_ -= file->size;
    ::unlink(file_of(entry->first, part).c_str());
  }
  // Folders that hold nothing more; the first that does ends it.
  for (stdfs::path folder = file_of(entry->first, DownloadPart::info).parent_path();
       folder != mount() && ::rmdir(folder.c_str()) == 0; folder = folder.parent_path()) {
  }
  return entries_.erase(entry);
}

Result<std::size_t> DownloadCache::tidy() {
  const std::scoped_lock held(lock_);
  return remove_damaged(false);
}

Result<bool> DownloadCache::to_blame(std::uint64_t before, bool certain) {
  // Whoever waits here for another's reading has its answer without one of its own.
  const std::scoped_lock held(lock_);
  if (damaged_ > before) return true;
  const auto began = std::chrono::steady_clock::now();
  if (!certain && quiet_until_ && began < *quiet_until_) return false;
  const auto found = remove_damaged(true);
  const auto ended = std::chrono::steady_clock::now();
  quiet_until_ = ended + (ended - began) * limits_.recheck_pause;
  if (!found) return found.error();
  return *found > 0;
}

Result<std::size_t> DownloadCache::remove_damaged(bool read_all) {
  std::size_t damaged = 0;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (whole(entry->first, entry->second, read_all)) {
      ++entry;
      continue;
    }
    ++damaged;
    ++damaged_;
    entry = remove(entry);
  }
  if (bytes_ > limits_.bytes_max || entries_.size() > limits_.versions_max) {
    std::vector<std::pair<std::uint64_t, sumdb::ModuleVersion>> by_use;
    for (const auto& [module, entry] : entries_) by_use.emplace_back(entry.used, module);
    std::ranges::sort(by_use);
    for (const auto& [use, module] : by_use) {
      if (bytes_ <= limits_.bytes_max && entries_.size() <= limits_.versions_max) break;
      remove(entries_.find(module));
    }
  }
  if (auto written = fs::write_file_durably(directory_ / "index", index_text(), 0600); !written) {
    return written.error();
  }
  return damaged;
}

std::string DownloadCache::index_text() const {
  std::string text(kIndexTitle);
  for (const auto& [module, entry] : entries_) {
    text += module.path + '\t' + module.version + '\t' + std::to_string(entry.used);
    for (const auto& file : entry.files) {
      text += '\t';
      text += file ? std::to_string(file->size) + ":" + file->digest.hex() : "-";
    }
    text += '\n';
  }
  return text;
}

std::uint64_t DownloadCache::bytes() const {
  const std::scoped_lock held(lock_);
  return bytes_;
}

std::size_t DownloadCache::versions() const {
  const std::scoped_lock held(lock_);
  return entries_.size();
}

}  // namespace cupel::worker
