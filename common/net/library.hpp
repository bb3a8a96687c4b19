/// Which libzmq this process runs with: the one that is loaded, not the one that it was built with.
#pragma once

#include "common/core/error.hpp"

#include <compare>
#include <string>

namespace cupel::net {

struct LibraryVersion {
  int major = 0;
  int minor = 0;
  int patch = 0;
  friend auto operator<=>(const LibraryVersion&, const LibraryVersion&) = default;
  [[nodiscard]] std::string text() const;
};

/// Before 4.3.3 a peer without a key could overflow the parser (CVE-2019-6250, CVE-2019-13132) or
/// starve those that have one by a handshake it never ends (CVE-2020-15166).
inline constexpr LibraryVersion kOldestSafeLibzmq{4, 3, 3};

[[nodiscard]] LibraryVersion loaded_libzmq();
/// To be asked before the first socket. Errors: bad_config (exit code 2: starting again would
/// change nothing).
[[nodiscard]] Result<void> check_libzmq(const LibraryVersion& loaded);

}  // namespace cupel::net
