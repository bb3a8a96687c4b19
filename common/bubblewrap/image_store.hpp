/// Toolchain images of a machine without an engine: folders with an unpacked root file system, made
/// once and read-only to every run. Blocking.
#pragma once

#include "common/bubblewrap/image_files.hpp"
#include "common/core/error.hpp"
#include "common/images/select.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupel::bubblewrap {

using Labels = std::vector<std::pair<std::string, std::string>>;

/// What a run needs of an image.
struct UnpackedImage {
  std::string id;  ///< "sha256:...": the assembled identity, which is also the engine id here.
  std::string root;
  Labels labels;
  std::string files;  ///< Digest of the list of its files, in hex; empty: there is none.
};

/// The whole images below `store`; none when the folder isn't there. What can't be read is left
/// out, and so is what was not finished.
[[nodiscard]] std::vector<images::EngineImage> list_images(const std::filesystem::path& store);

/// Errors: image_missing; io_error for a description that can't be read.
[[nodiscard]] Result<UnpackedImage> find_image(const std::filesystem::path& store,
                                               std::string_view id);

/// Every entry of the image against the list that was made with it. Errors: as find_image();
/// artifact_mismatch where there is no such list, or it isn't the one that the description names;
/// io_error.
[[nodiscard]] Result<ImageDamage> check_files(const std::filesystem::path& store,
                                              std::string_view id);

/// Folders in `store` that look like an image and describe none that list_images() could name.
[[nodiscard]] std::vector<std::string> broken_images(const std::filesystem::path& store);

/// An image while it is written; gone again unless finish() was called.
class ImageWriter {
 public:
  /// Errors: bad_value (no identity), io_error.
  [[nodiscard]] static Result<ImageWriter> begin(const std::filesystem::path& store,
                                                 std::string_view id);
  ImageWriter(ImageWriter&& other) noexcept;
  ImageWriter& operator=(ImageWriter&&) = delete;
  ~ImageWriter();

  /// Empty at first.
  [[nodiscard]] std::filesystem::path root() const { return fresh_ / "root"; }
  /// Adds what runs are mounted on, lists all files, describes the image and gives it its place;
  /// one that was there is replaced. Errors: io_error, disk_full.
  [[nodiscard]] Result<void> finish(const Labels& labels);

 private:
  ImageWriter(std::filesystem::path store, std::string id, std::filesystem::path fresh);
  std::filesystem::path store_;
  std::string id_;
  std::filesystem::path fresh_;
};

/// Runs that use it keep what they have mounted. Errors: not_found, io_error.
[[nodiscard]] Result<void> remove_image(const std::filesystem::path& store, std::string_view id);

}  // namespace cupel::bubblewrap
