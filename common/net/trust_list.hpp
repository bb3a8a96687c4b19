/// Which worker keys a coordinator admits. A text file, one worker a line:
///
///   # comment
///   build-7  <40 characters of Z85>  zone=eu  trust=high
///
/// Name: 1 to 64 of [A-Za-z0-9._-]. Labels: at most 32, key [a-z0-9._/-]{1,64}, value 1 to 128 of
/// [A-Za-z0-9._/:-]. A name or a key that stands twice is refused.
#pragma once

#include "common/core/error.hpp"
#include "common/net/curve_keys.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cupel::net {

struct TrustedWorker {
  std::string name;
  std::map<std::string, std::string> labels;
  friend bool operator==(const TrustedWorker&, const TrustedWorker&) = default;
};

/// Immutable once made, so that threads share it by std::shared_ptr<const TrustList>.
class TrustList {
 public:
  TrustList() = default;
  /// Errors: bad_config with "`file_name`:line:column".
  [[nodiscard]] static Result<TrustList> parse(std::string_view text, std::string_view file_name);
  /// A missing file is an empty list: nobody is trusted yet. Errors: as parse; key_permissions when
  /// others may write the file; io_error.
  [[nodiscard]] static Result<TrustList> load(const std::filesystem::path& file);

  /// nullptr for a key that is not trusted. Valid as long as the list.
  [[nodiscard]] const TrustedWorker* find(const PublicKey& key) const;
  [[nodiscard]] std::size_t size() const { return by_key_.size(); }
  /// Ordered by name.
  [[nodiscard]] std::vector<std::pair<PublicKey, TrustedWorker>> entries() const;

  /// Errors: already_exists (the key or the name), bad_value (malformed name or label, too many).
  [[nodiscard]] Result<void> add(const PublicKey& key, TrustedWorker worker);

 private:
  std::unordered_map<PublicKey, TrustedWorker> by_key_;
  std::set<std::string, std::less<>> names_;
};

/// Appends a line, durably and under a lock beside the file; keeps comments. Makes the file (0644).
/// Errors: those of TrustList::load and TrustList::add, locked.
[[nodiscard]] Result<void> add_trusted(const std::filesystem::path& file, const PublicKey& key,
                                       const TrustedWorker& worker);
/// Removes the line of a worker, given by name or by key in Z85; the removed entry is returned.
/// Errors: not_found and those of TrustList::load.
[[nodiscard]] Result<std::pair<PublicKey, TrustedWorker>> remove_trusted(
    const std::filesystem::path& file, std::string_view name_or_key);

}  // namespace cupel::net
