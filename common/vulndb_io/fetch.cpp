// One bounded request for the bytes of an archive.
#include "common/vulndb_io/take.hpp"

#include <curl/curl.h>
#include <memory>
#include <mutex>

namespace cupel::vulndb {

std::variant<std::string, Problem> fetch_bytes(const std::string& url, std::uint64_t bytes_max,
                                               const FetchSettings& settings);

namespace {

constexpr long kRedirectsMax = 3;

struct Sink {
  std::string bytes;
  std::uint64_t bytes_max = 0;
  bool too_large = false;
};

std::size_t take_piece(char* data, std::size_t /*one*/, std::size_t size, void* to) {
  auto& sink = *static_cast<Sink*>(to);
  if (sink.bytes.size() + size > sink.bytes_max) {
    sink.too_large = true;
    return 0;
  }
  sink.bytes.append(data, size);
  return size;
}

struct FreeCurl {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};

/// User names and queries of a URL may be secrets.
std::string shown(const std::string& url) {
  std::string text = url.substr(0, url.find_first_of("?#"));
  const std::size_t begin = text.find("://") + 3;
  const std::size_t end = text.find('/', begin);
  const std::size_t at = text.rfind('@', end);
  if (at != std::string::npos && at > begin) text.erase(begin, at - begin + 1);
  return text;
}

}  // namespace

std::variant<std::string, Problem> fetch_bytes(const std::string& url, std::uint64_t bytes_max,
                                               const FetchSettings& settings) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  const std::unique_ptr<CURL, FreeCurl> handle(curl_easy_init());
  const auto unavailable = [&](const std::string& why) {
    return Problem{Reason::vulndb_unavailable,
                   "vulnerability database: fetch " + shown(url) + ": " + why};
  };
  if (!handle) return unavailable("no client");
  Sink sink{.bytes = {}, .bytes_max = bytes_max};
  const auto limit_ms = static_cast<long>(
      std::chrono::duration_cast<std::chrono::milliseconds>(settings.limit).count());
  CURL* const curl = handle.get();
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR,
                   url.starts_with("https") ? "https" : "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, kRedirectsMax);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, limit_ms);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, limit_ms / 4);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_piece);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &sink);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "cupel");
  if (!settings.ca_bundle.empty()) {
    curl_easy_setopt(curl, CURLOPT_CAINFO, settings.ca_bundle.c_str());
  }
  const CURLcode code = curl_easy_perform(curl);
  if (sink.too_large) {
    return Problem{Reason::vulndb_corrupt, "vulnerability database: the archive is too large"};
  }
  if (code != CURLE_OK) {
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    std::string why = curl_easy_strerror(code);
    if (status >= 400) why = "HTTP status " + std::to_string(status);
    return unavailable(why);
  }
  return std::move(sink.bytes);
}

}  // namespace cupel::vulndb
