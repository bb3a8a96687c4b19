#include "worker/downloads/zip_sum.hpp"

#include "common/core/digest.hpp"
#include "common/images/recipe.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <array>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace cupel::worker {

namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} * 1024;

struct FreeZip {
  void operator()(archive* reader) const { archive_read_free(reader); }
};

Error bad_zip(const std::filesystem::path& zip, archive* reader) {
  const char* words = reader == nullptr ? nullptr : archive_error_string(reader);
  return {.code = Errc::io_error,
          .what = "read the zip " + zip.string(),
          .detail = capped_detail(words == nullptr ? "" : words),
          .hint = {}};
}

std::string name_in_zip(archive_entry* entry) {
  const char* name = archive_entry_pathname_utf8(entry);
  if (name == nullptr) name = archive_entry_pathname(entry);
  return name == nullptr ? "" : name;
}

}  // namespace

Result<std::string> zip_sum(const std::filesystem::path& zip, const ZipLimits& limits) {
  const std::unique_ptr<archive, FreeZip> reader(archive_read_new());
  // Opened as a file, so the reader goes by the central directory, as the go command does.
  if (!reader || archive_read_support_format_zip_seekable(reader.get()) != ARCHIVE_OK ||
      archive_read_open_filename(reader.get(), zip.c_str(), kPieceBytes) != ARCHIVE_OK) {
    return bad_zip(zip, reader.get());
  }
  Error large{.code = Errc::too_large,
              .what = zip.string() + " unpacks to more than a module may hold",
              .detail = {},
              .hint = {}};
  std::vector<images::ZipFile> files;
  std::uint64_t unpacked = 0;
  std::array<char, kPieceBytes> piece{};
  archive_entry* entry = nullptr;
  int code = ARCHIVE_OK;
  while ((code = archive_read_next_header(reader.get(), &entry)) == ARCHIVE_OK) {
    std::string name = name_in_zip(entry);
    if (name.empty() || name.find('\n') != std::string::npos) return bad_zip(zip, nullptr);
    if (files.size() == limits.files) return large;
    Sha256 hash;
    for (;;) {
      const la_ssize_t count = archive_read_data(reader.get(), piece.data(), piece.size());
      if (count == 0) break;
      if (count < 0) return bad_zip(zip, reader.get());
      unpacked += static_cast<std::uint64_t>(count);
      if (unpacked > limits.unpacked_bytes) return large;
      hash.update(std::string_view(piece.data(), static_cast<std::size_t>(count)));
    }
    files.push_back({std::move(name), hash.finish()});
  }
  if (code != ARCHIVE_EOF || files.empty()) return bad_zip(zip, reader.get());
  return images::module_zip_h1(std::move(files));
}

}  // namespace cupel::worker
