#include "common/vulndb_io/take.hpp"

#include "common/curl/http_fetch.hpp"
#include "common/fs/beneath.hpp"
#include "common/fs/files.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace cupel::vulndb {

namespace {

namespace stdfs = std::filesystem;

constexpr std::size_t kPieceBytes = 64UL * 1024;

struct FreeArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
using Reader = std::unique_ptr<archive, FreeArchive>;

Problem unavailable(std::string what) {
  return {Reason::vulndb_unavailable, "vulnerability database: " + std::move(what)};
}

Problem corrupt(std::string what) {
  return {Reason::vulndb_corrupt, "vulnerability database: " + std::move(what)};
}

Problem unreadable(archive* reader) {
  const char* words = archive_error_string(reader);
  return corrupt("the archive can't be read: " + std::string(words == nullptr ? "" : words));
}

/// Bounded by what is really unpacked, whatever the archive promised.
std::variant<std::string, Problem> content(archive* reader, const Limits& limits) {
  std::string bytes;
  std::array<char, kPieceBytes> piece{};
  for (;;) {
    const la_ssize_t count = archive_read_data(reader, piece.data(), piece.size());
    if (count == 0) return bytes;
    if (count < 0) return unreadable(reader);
    bytes.append(piece.data(), static_cast<std::size_t>(count));
    if (bytes.size() > limits.file_bytes) return corrupt("a file of the archive is too large");
  }
}

std::string name_of(archive_entry* entry) {
  const char* raw = archive_entry_pathname(entry);
  std::string name = raw == nullptr ? "" : raw;
  if (name.starts_with("./")) name.erase(0, 2);
  return name;
}

/// The two folders of the layout may be entries of their own.
bool is_layout_folder(const std::string& name) {
  return name.empty() || name == "." || name == "ID/" || name == "index/" || name == "ID" ||
         name == "index";
}

std::optional<Problem> add_folder(Builder& builder, const fs::Fd& root, const char* folder,
                                  const Limits& limits, bool needed) {
  auto opened = fs::open_beneath(root, folder, O_RDONLY | O_DIRECTORY);
  if (!opened) {
    if (!needed && opened.error().code == Errc::not_found) return std::nullopt;
    return corrupt("there is no folder " + std::string(folder) + " in it");
  }
  std::error_code failure;
  for (stdfs::directory_iterator item("/proc/self/fd/" + std::to_string(opened->get()), failure),
       end;
       !failure && item != end; item.increment(failure)) {
    const std::string name = item->path().filename().string();
    auto file = fs::open_beneath(*opened, name, O_RDONLY | O_NONBLOCK);
    if (!file) return corrupt("'" + std::string(folder) + "/" + name + "' is no plain file");
    auto bytes = fs::read_all(*file, limits.file_bytes, name);
    if (!bytes) return corrupt("'" + std::string(folder) + "/" + name + "': " + bytes.error().what);
    if (auto problem = builder.add(std::string(folder) + "/" + name, *std::move(bytes))) {
      return problem;
    }
  }
  if (failure) return unavailable("read " + std::string(folder) + ": " + failure.message());
  return std::nullopt;
}

}  // namespace

bool is_url(std::string_view place) {
  return place.starts_with("https://") || place.starts_with("http://");
}

Answer read_archive(std::string_view bytes, const Limits& limits) {
  if (bytes.size() > limits.archive_bytes) return corrupt("the archive is too large");
  const Reader reader(archive_read_new());
  if (!reader || archive_read_support_format_zip_seekable(reader.get()) != ARCHIVE_OK ||
      archive_read_support_format_tar(reader.get()) != ARCHIVE_OK ||
      archive_read_support_filter_gzip(reader.get()) != ARCHIVE_OK ||
      archive_read_open_memory(reader.get(), bytes.data(), bytes.size()) != ARCHIVE_OK) {
    return unreadable(reader.get());
  }
  Builder builder(limits);
  archive_entry* entry = nullptr;
  int code = ARCHIVE_OK;
  while ((code = archive_read_next_header(reader.get(), &entry)) == ARCHIVE_OK) {
    std::string name = name_of(entry);
    const auto type = archive_entry_filetype(entry);
    if (type == AE_IFDIR && is_layout_folder(name)) continue;
    if (type != AE_IFREG || archive_entry_hardlink(entry) != nullptr) {
      return corrupt("the archive holds something that is no plain file");
    }
    auto read = content(reader.get(), limits);
    if (auto* problem = std::get_if<Problem>(&read)) return std::move(*problem);
    if (auto problem = builder.add(std::move(name), std::get<std::string>(std::move(read)))) {
      return *std::move(problem);
    }
  }
  if (code != ARCHIVE_EOF) return unreadable(reader.get());
  return builder.finish();
}

Answer read_folder(const stdfs::path& folder, const Limits& limits) {
  const auto root = fs::open_dir(folder);
  if (!root) return unavailable("open " + folder.string() + ": " + root.error().what);
  Builder builder(limits);
  if (auto problem = add_folder(builder, *root, "index", limits, true)) return *std::move(problem);
  // A database without entries has no such folder in a version control system.
  if (auto problem = add_folder(builder, *root, "ID", limits, false)) return *std::move(problem);
  return builder.finish();
}

Answer take_snapshot(const std::string& place, const Limits& limits, const FetchSettings& fetch) {
  if (is_url(place)) {
    const std::atomic<bool> never{false};
    curl::HttpFetch client({.limit = fetch.limit, .ca_bundle = fetch.ca_bundle, .netrc_file = {}},
                           never);
    const auto answer = client.get(place, limits.archive_bytes);
    if (!answer && answer.error().code == Errc::too_large)
      return corrupt("the archive is too large");
    if (!answer) return unavailable(answer.error().what);
    if (answer->status != 200) {
      return unavailable("get " + curl::shown_url(place) + ": HTTP status " +
                         std::to_string(answer->status));
    }
    return read_archive(answer->bytes, limits);
  }
  std::error_code failure;
  if (stdfs::is_directory(place, failure)) return read_folder(place, limits);
  if (!stdfs::exists(place, failure)) return unavailable("there is no " + place);
  const auto bytes = fs::read_file(place, limits.archive_bytes);
  if (!bytes && bytes.error().code == Errc::too_large) return corrupt("the archive is too large");
  if (!bytes) return unavailable(bytes.error().text());
  return read_archive(*bytes, limits);
}

Result<void> write_folder(const Database& database, const stdfs::path& folder) {
  const auto failed = [](const std::string& what) {
    return Error{
        errno == ENOSPC ? Errc::disk_full : Errc::io_error, what, std::strerror(errno), {}};
  };
  for (const char* below : {"index", "ID"}) {
    if (mkdir((folder / below).c_str(), 0755) != 0 && errno != EEXIST) {
      return failed("make " + (folder / below).string());
    }
  }
  for (const auto& [path, bytes] : database.files) {
    const stdfs::path file = folder / path;
    const fs::Fd out(
        open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444));
    if (!out) return failed("make " + file.string());
    std::string_view rest = bytes;
    while (!rest.empty()) {
      const ssize_t count = write(out.get(), rest.data(), rest.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return failed("write " + file.string());
      rest.remove_prefix(static_cast<std::size_t>(count));
    }
    if (fchmod(out.get(), 0444) != 0) return failed("write " + file.string());
  }
  // Whatever our umask says, a container must read it.
  for (const stdfs::path& made : {folder / "index", folder / "ID", folder}) {
    if (chmod(made.c_str(), 0555) != 0) return failed("change " + made.string());
  }
  return {};
}

}  // namespace cupel::vulndb
