#include "cli/image/unpack.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <cerrno>
#include <locale.h>
#include <memory>
#include <optional>
#include <string_view>

namespace cupel::cli {
namespace {

constexpr mode_t kFileModes =
    0555;  // nobody writes into an image, and nothing becomes another user
constexpr mode_t kFolderModes = 01777;
constexpr std::string_view kDot = "./";

struct UnpackReadFree {
  void operator()(archive* handle) const { archive_read_free(handle); }
};
struct UnpackWriteFree {
  void operator()(archive* handle) const { archive_write_free(handle); }
};

Error unpack_failed(const std::string& what, archive* handle) {
  const char* const why = archive_error_string(handle);
  return {.code = archive_errno(handle) == ENOSPC ? Errc::disk_full : Errc::io_error,
          .what = what,
          .detail = why == nullptr ? std::string() : capped_detail(why),
          .hint = {}};
}

/// Feeds the reader, and keeps what went wrong on the way.
struct Feed {
  const NextBytes* next = nullptr;
  std::string piece;
  std::optional<Error> failed;
};

la_ssize_t give(archive* reader, void* client, const void** bytes) {
  Feed& feed = *static_cast<Feed*>(client);
  Result<std::string> piece = (*feed.next)();
  if (!piece) {
    feed.failed = piece.error();
    archive_set_error(reader, EIO, "the archive's source failed");
    return -1;
  }
  feed.piece = std::move(*piece);
  *bytes = feed.piece.data();
  return static_cast<la_ssize_t>(feed.piece.size());
}

/// Names of an archive are UTF-8; libarchive converts them by the thread's locale.
class Utf8Locale {
 public:
  Utf8Locale()
      : locale_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)), before_(uselocale(locale_)) {}
  ~Utf8Locale() {
    uselocale(before_);
    freelocale(locale_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  locale_t locale_;
  locale_t before_;
};

std::string below(const std::filesystem::path& root, const char* name) {
  std::string_view rest = name == nullptr ? "" : name;
  while (rest.starts_with(kDot)) rest.remove_prefix(kDot.size());
  return rest.empty() || rest == "." ? root.string() : root.string() + "/" + std::string(rest);
}

void place_entry(archive_entry* entry, const std::filesystem::path& root) {
  const std::string path = below(root, archive_entry_pathname(entry));
  if (const char* const hard = archive_entry_hardlink(entry); hard != nullptr) {
    const std::string target = below(root, hard);
    archive_entry_set_hardlink(entry, target.c_str());
  }
  archive_entry_set_pathname(entry, path.c_str());
  const bool folder = archive_entry_filetype(entry) == AE_IFDIR;
  archive_entry_set_perm(entry, archive_entry_perm(entry) & (folder ? kFolderModes : kFileModes));
}

Result<void> copy_content(archive* from, archive* to) {
  const void* block = nullptr;
  std::size_t size = 0;
  la_int64_t offset = 0;
  int code = ARCHIVE_OK;
  while ((code = archive_read_data_block(from, &block, &size, &offset)) == ARCHIVE_OK) {
    if (archive_write_data_block(to, block, size, offset) < ARCHIVE_OK)
      return unpack_failed("can't write a file of the image", to);
  }
  if (code != ARCHIVE_EOF) return unpack_failed("can't read the image's archive", from);
  return {};
}

}  // namespace

Result<void> unpack_tar(const NextBytes& next, const std::filesystem::path& root) {
  const Utf8Locale names;
  std::error_code ec;
  // Every link on an entry's way is refused, and so the way to the root may have none.
  const std::filesystem::path real = std::filesystem::canonical(root, ec);
  if (ec) return Error{Errc::io_error, "can't use " + root.string(), ec.message(), {}};
  const std::unique_ptr<archive, UnpackReadFree> reader(archive_read_new());
  const std::unique_ptr<archive, UnpackWriteFree> disk(archive_write_disk_new());
  archive_read_support_format_tar(reader.get());
  archive_write_disk_set_options(disk.get(), ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME |
                                                 ARCHIVE_EXTRACT_SECURE_SYMLINKS |
                                                 ARCHIVE_EXTRACT_SECURE_NODOTDOT);
  Feed feed{.next = &next, .piece = {}, .failed = {}};
  if (archive_read_open(reader.get(), &feed, nullptr, &give, nullptr) != ARCHIVE_OK)
    return feed.failed ? *feed.failed
                       : unpack_failed("can't read the image's archive", reader.get());
  archive_entry* entry = nullptr;
  int code = ARCHIVE_OK;
  while ((code = archive_read_next_header(reader.get(), &entry)) >= ARCHIVE_WARN &&
         code != ARCHIVE_EOF) {
    place_entry(entry, real);
    const std::string name = archive_entry_pathname(entry);
    if (archive_write_header(disk.get(), entry) < ARCHIVE_WARN)
      return unpack_failed("can't unpack " + name, disk.get());
    if (archive_entry_size(entry) > 0 && archive_entry_hardlink(entry) == nullptr) {
      if (auto copied = copy_content(reader.get(), disk.get()); !copied)
        return feed.failed ? Result<void>(*feed.failed) : copied;
    }
    if (archive_write_finish_entry(disk.get()) < ARCHIVE_WARN)
      return unpack_failed("can't unpack " + name, disk.get());
  }
  if (feed.failed) return *feed.failed;
  if (code != ARCHIVE_EOF) return unpack_failed("can't read the image's archive", reader.get());
  // Folders get their modes and times last.
  if (archive_write_close(disk.get()) != ARCHIVE_OK)
    return unpack_failed("can't finish the image", disk.get());
  return {};
}

}  // namespace cupel::cli
