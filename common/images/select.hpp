/// Which image a unit runs in. Pure; the worker asks it with what its engine holds.
#pragma once

#include "common/core/outcome.hpp"
#include "common/images/table.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupel::images {

// Labels of an assembled image.
inline constexpr std::string_view kLabelIdentity = "cupel.image.identity";
inline constexpr std::string_view kLabelGo = "cupel.image.go";
inline constexpr std::string_view kLabelMinor = "cupel.image.minor";
inline constexpr std::string_view kLabelCc = "cupel.image.cc";      ///< "1" or "0"
inline constexpr std::string_view kLabelBase = "cupel.image.base";  ///< Digest of the base archive.

/// An image as the engine lists it.
struct EngineImage {
  std::string id;                         ///< "sha256:..." of the engine.
  std::vector<std::string> repo_digests;  ///< "golang@sha256:..."
  std::vector<std::pair<std::string, std::string>> labels;
};

/// An image of ours that is present on an engine.
struct Available {
  std::string identity;    ///< Registry digest, or the identity of an assembled image.
  std::string engine_id;   ///< What a run is created with.
  std::string go_version;  ///< "1.26.8"; of a pulled image what the table says.
  std::string minor;       ///< "1.26"
  bool has_cc = true;
  std::string base;  ///< Digest of the base archive of an assembled image; else empty.
  friend bool operator==(const Available&, const Available&) = default;
};

/// Which of an engine's images are toolchain images: by label, or by a digest of the table. Ordered
/// by version, images with a C compiler first, then by identity; one entry an identity.
[[nodiscard]] std::vector<Available> match_images(const Table& table,
                                                  const std::vector<EngineImage>& images);

/// The answer of `select`. `outcome` is passing when `image` is set; else refused with
/// requires_newer_toolchain, or inconclusive with image_missing.
struct Selection {
  Available image;
  Outcome outcome = Outcome::passing;
  Reason reason = Reason::none;
  std::string message;  ///< What is missing, and what would help.

  [[nodiscard]] bool found() const { return outcome == Outcome::passing; }
};

/// The lowest image that is at least as new as the unit's go line.
///
/// @param go_version      As the go line says; empty counts as 1.16.
/// @param settings_image  "auto" (or empty), a version such as "1.26" or "1.26.8", or an identity.
/// A
///                        pinned image older than the go line refuses the unit.
/// @param without_c       Take the variant without a C compiler; else one with a C compiler, which
/// no
///                        other replaces.
/// Refused only when no entry of the table (nor an image that is here) is new enough; when one is
/// and the engine doesn't hold it, that is image_missing. Errors: bad_value for a go line or pin
/// that is no version.
[[nodiscard]] Result<Selection> select(const Table& table, const std::vector<Available>& available,
                                       std::string_view go_version, std::string_view settings_image,
                                       bool without_c);

}  // namespace cupel::images
