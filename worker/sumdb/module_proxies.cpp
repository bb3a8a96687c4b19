#include "worker/sumdb/module_proxies.hpp"

#include <algorithm>
#include <utility>

namespace cupel::worker::sumdb {

std::vector<ModuleProxy> module_proxies(std::string_view goproxy) {
  std::vector<ModuleProxy> proxies;
  while (!goproxy.empty()) {
    const std::size_t end = std::min(goproxy.find_first_of(",|"), goproxy.size());
    std::string url(goproxy.substr(0, end));
    const bool bar = end < goproxy.size() && goproxy[end] == '|';
    goproxy.remove_prefix(std::min(end + 1, goproxy.size()));
    if (!url.starts_with("https://") && !url.starts_with("http://")) continue;
    while (url.ends_with('/')) url.pop_back();
    proxies.push_back({std::move(url), bar});
  }
  return proxies;
}

Result<ProxyAnswer> ask_proxies(const std::vector<ModuleProxy>& proxies, const curl::Fetch& fetch,
                                const std::string& path, std::uint64_t bytes_max) {
  Error none{
      .code = Errc::not_found, .what = "no module proxy has " + path, .detail = {}, .hint = {}};
  for (const ModuleProxy& proxy : proxies) {
    const std::string url = proxy.url + "/" + path;
    auto fetched = fetch(url, bytes_max);
    if (fetched && fetched->status == 200) return ProxyAnswer{proxy.url, std::move(fetched->bytes)};
    if (!fetched && fetched.error().code == Errc::cancelled) return fetched.error();
    if (proxy.next_on_failure || (fetched && fetched->missing())) continue;
    if (!fetched) return fetched.error();
    return Error{
        .code = Errc::io_error,
        .what = "get " + curl::shown_url(url) + ": status " + std::to_string(fetched->status),
        .detail = {},
        .hint = {}};
  }
  return none;
}

}  // namespace cupel::worker::sumdb
