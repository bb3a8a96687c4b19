/// The recorded checksum database of tests/fixtures/sumdb as something that can be asked, and made
/// to lie.
#pragma once

#include "common/curl/http_fetch.hpp"
#include "tests/support/recorded_file.hpp"
#include "worker/core/sumdb/note.hpp"

#include <map>
#include <string>
#include <vector>

namespace cupel::tests {

class RecordedSumdb {
 public:
  static std::string read(const std::string& path) { return recorded_file(path); }

  static worker::sumdb::Database database() {
    std::string key = read("key");
    key.pop_back();
    return *worker::sumdb::parse_database(key);
  }

  /// Paths below the proxy, "sumdb/NAME/" left away from those of the database.
  std::map<std::string, std::string> instead;  ///< Another content.
  std::map<std::string, long> statuses;        ///< Another status, without content.
  std::vector<std::string> asked;

  /// Of a module proxy at https://proxy.example that passes the database on.
  curl::Fetch fetch() {
    return [this](const std::string& url, std::uint64_t bytes_max) { return get(url, bytes_max); };
  }

  [[nodiscard]] std::size_t count(const std::string& beginning) const {
    std::size_t found = 0;
    for (const std::string& path : asked) found += path.starts_with(beginning) ? 1 : 0;
    return found;
  }

 private:
  Result<curl::Fetched> get(const std::string& url, std::uint64_t bytes_max) {
    const std::string proxy = "https://proxy.example/";
    const std::string below = proxy + "sumdb/" + database().verifier.name + "/";
    if (!url.starts_with(proxy)) return Error{Errc::io_error, "no such host: " + url, {}, {}};
    const bool sums = url.starts_with(below);
    const std::string path = url.substr(sums ? below.size() : proxy.size());
    asked.push_back(path);
    if (const auto found = statuses.find(path); found != statuses.end()) {
      if (found->second == 0) return Error{Errc::io_error, "no answer: " + url, {}, {}};
      return curl::Fetched{found->second, {}};
    }
    const auto found = instead.find(path);
    std::string bytes = found != instead.end() ? found->second : sums ? read(path) : std::string();
    if (path == "supported") return curl::Fetched{200, {}};
    if (bytes.empty()) return curl::Fetched{404, {}};
    if (bytes.size() > bytes_max) return Error{Errc::too_large, "too large: " + url, {}, {}};
    return curl::Fetched{200, std::move(bytes)};
  }
};

}  // namespace cupel::tests
