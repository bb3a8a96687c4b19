#include "common/curl/http_fetch.hpp"

#include <curl/curl.h>
#include <mutex>
#include <utility>

namespace cupel::curl {

namespace {

constexpr long kRedirectsMax = 5;

struct Sink {
  std::string bytes;
  std::uint64_t bytes_max = 0;
  bool too_large = false;
};

std::size_t take_bytes(char* data, std::size_t /*one*/, std::size_t size, void* to) {
  auto& sink = *static_cast<Sink*>(to);
  if (sink.bytes.size() + size > sink.bytes_max) {
    sink.too_large = true;
    return 0;
  }
  sink.bytes.append(data, size);
  return size;
}

int stop_wanted(void* stop, curl_off_t /*down*/, curl_off_t /*now*/, curl_off_t /*up*/,
                curl_off_t /*sent*/) {
  return static_cast<const std::atomic<bool>*>(stop)->load() ? 1 : 0;
}

struct FreeHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};

}  // namespace

std::string shown_url(const std::string& url) {
  std::string text = url.substr(0, url.find_first_of("?#"));
  const std::size_t scheme = text.find("://");
  if (scheme == std::string::npos) return text;
  const std::size_t begin = scheme + 3;
  const std::size_t at = text.rfind('@', text.find('/', begin));
  if (at != std::string::npos && at > begin) text.erase(begin, at - begin + 1);
  return text;
}

struct HttpFetch::State {
  HttpSettings settings;
  const std::atomic<bool>& stop;
  std::unique_ptr<CURL, FreeHandle> handle;
};

HttpFetch::HttpFetch(HttpSettings settings, const std::atomic<bool>& stop) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  state_ = std::make_unique<State>(State{std::move(settings), stop, {}});
  state_->handle.reset(curl_easy_init());
}

HttpFetch::~HttpFetch() = default;

Result<Fetched> HttpFetch::get(const std::string& url, std::uint64_t bytes_max) {
  CURL* const curl = state_->handle.get();
  const auto failed = [&](Errc code, const std::string& why) {
    return Error{
        .code = code, .what = "get " + shown_url(url) + ": " + why, .detail = {}, .hint = {}};
  };
  if (curl == nullptr) return failed(Errc::io_error, "no client");
  if (state_->stop.load()) return failed(Errc::cancelled, "stopped");
  const HttpSettings& settings = state_->settings;
  Sink sink{.bytes = {}, .bytes_max = bytes_max};
  const auto limit_ms = static_cast<long>(
      std::chrono::duration_cast<std::chrono::milliseconds>(settings.limit).count());
  curl_easy_reset(curl);  // options only: connections stay
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR,
                   url.starts_with("https") ? "https" : "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, kRedirectsMax);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, limit_ms);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, limit_ms / 2);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_bytes);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &sink);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, stop_wanted);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, const_cast<std::atomic<bool>*>(&state_->stop));
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "cupel");
  if (!settings.ca_bundle.empty()) {
    curl_easy_setopt(curl, CURLOPT_CAINFO, settings.ca_bundle.c_str());
  }
  if (!settings.netrc_file.empty()) {
    curl_easy_setopt(curl, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
    curl_easy_setopt(curl, CURLOPT_NETRC_FILE, settings.netrc_file.c_str());
  }
  const CURLcode code = curl_easy_perform(curl);
  if (sink.too_large) {
    return failed(Errc::too_large, "more than " + std::to_string(bytes_max) + " bytes");
  }
  if (code == CURLE_ABORTED_BY_CALLBACK) return failed(Errc::cancelled, "stopped");
  if (code != CURLE_OK) return failed(Errc::io_error, curl_easy_strerror(code));
  Fetched fetched;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &fetched.status);
  fetched.bytes = std::move(sink.bytes);
  return fetched;
}

}  // namespace cupel::curl
