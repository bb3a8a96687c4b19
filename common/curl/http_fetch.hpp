/// Bounded requests of the host itself to servers of other people: module proxies, checksum
/// databases, a vulnerability database. Blocking.
#pragma once

#include "common/core/error.hpp"
#include "common/core/time.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace cupel::curl {

struct Fetched {
  long status = 0;  ///< Of HTTP, after redirects.
  std::string bytes;
  [[nodiscard]] bool missing() const { return status == 404 || status == 410; }
};

/// GET. Errors: io_error (no answer), too_large, cancelled.
using Fetch = std::function<Result<Fetched>(const std::string& url, std::uint64_t bytes_max)>;

struct HttpSettings {
  Duration limit = std::chrono::seconds(20);  ///< Of one request, from its beginning to its end.
  std::string ca_bundle;                      ///< PEM file; empty: the system's.
  std::string netrc_file;                     ///< Credentials by host; empty: none.
};

/// With the environment's proxies, redirects to https only (to http as well from http), and
/// connections that are used again. One thread at a time; `stop` ends a request from any thread.
class HttpFetch {
 public:
  HttpFetch(HttpSettings settings, const std::atomic<bool>& stop);
  ~HttpFetch();
  HttpFetch(const HttpFetch&) = delete;
  HttpFetch& operator=(const HttpFetch&) = delete;

  [[nodiscard]] Result<Fetched> get(const std::string& url, std::uint64_t bytes_max);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A URL without user, password and query: for messages.
[[nodiscard]] std::string shown_url(const std::string& url);

}  // namespace cupel::curl
