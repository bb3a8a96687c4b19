#include "common/images/select.hpp"

#include "common/core/digest.hpp"

#include <algorithm>
#include <tuple>

namespace cupel::images {
namespace {

Error bad_version(std::string_view what, std::string_view text) {
  return {.code = Errc::bad_value,
          .what = std::string(what) + " '" + std::string(text.substr(0, 64)) + "' is no Go version",
          .detail = {},
          .hint = {}};
}

std::string_view label(const EngineImage& image, std::string_view name) {
  for (const auto& [key, value] : image.labels) {
    if (key == name) return value;
  }
  return {};
}

std::optional<Available> assembled(const EngineImage& image) {
  const std::string_view identity = label(image, kLabelIdentity);
  const auto go = GoVersion::parse(label(image, kLabelGo));
  const std::string_view cc = label(image, kLabelCc);
  if (!identity.starts_with("sha256:") || !Digest::parse(identity) || !go ||
      (cc != "0" && cc != "1")) {
    return std::nullopt;
  }
  return Available{.identity = std::string(identity),
                   .engine_id = image.id,
                   .go_version = std::string(label(image, kLabelGo)),
                   .minor = go->minor_text(),
                   .has_cc = cc == "1",
                   .base = std::string(label(image, kLabelBase))};
}

std::optional<Available> pulled(const Table& table, const EngineImage& image) {
  for (const std::string& reference : image.repo_digests) {
    const auto at = reference.rfind('@');
    if (at == std::string::npos) continue;
    const std::string_view digest = std::string_view(reference).substr(at + 1);
    for (const ImageEntry& entry : table.entries) {
      if (entry.registry.digest != digest) continue;
      return Available{.identity = entry.registry.digest,
                       .engine_id = image.id,
                       .go_version = entry.go,
                       .minor = entry.minor,
                       .has_cc = true,
                       .base = {}};
    }
  }
  return std::nullopt;
}

auto order(const Available& image) {
  return std::tuple(GoVersion::parse(image.go_version), !image.has_cc, image.identity,
                    image.engine_id);
}

/// A go line "1.21" asks for the language; the first release candidate is newer than that already.
bool new_enough(std::string_view have, const GoVersion& wanted) {
  const auto version = GoVersion::parse(have);
  return version && *version >= wanted;
}

Selection missing(std::string what) {
  return {.image = {},
          .outcome = Outcome::inconclusive,
          .reason = Reason::image_missing,
          .message = std::move(what)};
}

Selection too_new(std::string_view go_line, std::string_view newest) {
  return {.image = {},
          .outcome = Outcome::refused,
          .reason = Reason::requires_newer_toolchain,
          .message = "the go line asks for " + std::string(go_line) + ", newer than " +
                     std::string(newest)};
}

/// Does an image answer to what the campaign pinned?
bool is_pinned(const Available& image, std::string_view pin) {
  return image.identity == pin || image.minor == pin || image.go_version == pin;
}

std::string variant(bool without_c) {
  return without_c ? " without a C compiler" : "";
}

Result<Selection> select_pinned(const Table& table, const std::vector<Available>& available,
                                const GoVersion& wanted, std::string_view go_line_text,
                                std::string_view pin, bool without_c) {
  const bool identity = pin.starts_with("sha256:");
  if (!identity && !GoVersion::parse(pin)) return bad_version("image", pin);
  const Available* found = nullptr;
  for (const Available& image : available) {
    // An identity says all by itself; a version leaves the variant open. Later ones are newer.
    if (is_pinned(image, pin) && (identity || image.has_cc != without_c)) found = &image;
  }
  const std::string go_line =
      go_line_text.empty() ? kNoGoLine.minor_text() : std::string(go_line_text);
  if (found == nullptr) {
    const ImageEntry* entry = table.find(pin);
    if (entry != nullptr && !new_enough(entry->go, wanted)) return too_new(go_line, entry->go);
    return missing("the engine holds no image " + std::string(pin) + variant(without_c));
  }
  if (!new_enough(found->go_version, wanted)) return too_new(go_line, found->go_version);
  return Selection{
      .image = *found, .outcome = Outcome::passing, .reason = Reason::none, .message = {}};
}

}  // namespace

std::vector<Available> match_images(const Table& table, const std::vector<EngineImage>& images) {
  std::vector<Available> found;
  for (const EngineImage& image : images) {
    auto match = assembled(image);
    if (!match) match = pulled(table, image);
    if (match) found.push_back(std::move(*match));
  }
  std::ranges::sort(found, {}, order);
  const auto doubles = std::ranges::unique(found, {}, &Available::identity);
  found.erase(doubles.begin(), doubles.end());
  return found;
}

Result<Selection> select(const Table& table, const std::vector<Available>& available,
                         std::string_view go_version, std::string_view settings_image,
                         bool without_c) {
  const auto line = go_version.empty() ? std::optional(kNoGoLine) : GoVersion::parse(go_version);
  if (!line) return bad_version("go line", go_version);
  // A pin by digest may carry the name of its repository: only the digest counts.
  if (const auto at = settings_image.find('@'); at != std::string_view::npos) {
    settings_image.remove_prefix(at + 1);
  }
  if (!settings_image.empty() && settings_image != "auto") {
    return select_pinned(table, available, *line, go_version, settings_image, without_c);
  }
  const Available* best = nullptr;
  std::string_view newest = table.entries.empty() ? "" : std::string_view(table.entries.back().go);
  for (const Available& image : available) {
    if (GoVersion::parse(image.go_version) > GoVersion::parse(newest)) newest = image.go_version;
    if (image.has_cc == without_c || !new_enough(image.go_version, *line)) continue;
    const bool lower_minor =
        best == nullptr || GoVersion::parse(image.minor) < GoVersion::parse(best->minor);
    // Of one minor the newest patch; `available` is in ascending order, but callers may not be.
    const bool newer_patch =
        best != nullptr && image.minor == best->minor &&
        GoVersion::parse(image.go_version) > GoVersion::parse(best->go_version);
    if (lower_minor || newer_patch) best = &image;
  }
  if (best != nullptr) {
    return Selection{
        .image = *best, .outcome = Outcome::passing, .reason = Reason::none, .message = {}};
  }
  const std::string text = go_version.empty() ? kNoGoLine.minor_text() : std::string(go_version);
  if (!new_enough(newest, *line)) return too_new(text, newest);
  return missing("the engine holds no toolchain image" + variant(without_c) + " for go " + text);
}

}  // namespace cupel::images
