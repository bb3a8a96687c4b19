#include "common/net/library.hpp"

#include <zmq.h>

namespace cupel::net {

std::string LibraryVersion::text() const {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

LibraryVersion loaded_libzmq() {
  LibraryVersion loaded;
  zmq_version(&loaded.major, &loaded.minor, &loaded.patch);
  return loaded;
}

Result<void> check_libzmq(const LibraryVersion& loaded) {
  if (loaded >= kOldestSafeLibzmq) return {};
  return Error{.code = Errc::bad_config,
               .what = "libzmq " + loaded.text() + " is too old: before " +
                       kOldestSafeLibzmq.text() +
                       " a peer without a key could crash it or starve "
                       "others (CVE-2019-6250, CVE-2019-13132, CVE-2020-15166)",
               .detail = {},
               .hint =
                   "install the distribution's libzmq5, and look whether LD_LIBRARY_PATH names "
                   "another one"};
}

}  // namespace cupel::net
