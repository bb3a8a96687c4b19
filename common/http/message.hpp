/// Requests and responses of the HTTP server as plain values, without a header of the HTTP library.
#pragma once

#include "common/core/digest.hpp"
#include "common/core/error.hpp"
#include "common/http/event_stream.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cupel::http {

/// Who asks: the identity behind a bearer token.
struct Principal {
  std::string name;
  std::vector<std::string> scopes;
  [[nodiscard]] bool may(std::string_view scope) const;
};

struct Request {
  std::string method;                          ///< "GET"
  std::string path;                            ///< Decoded, without the query.
  std::map<std::string, std::string> params;   ///< What {name} in the route's template matched.
  std::map<std::string, std::string> query;    ///< Decoded; the first of a repeated key.
  std::map<std::string, std::string> headers;  ///< Lower-case names.
  std::string body;                            ///< Empty for a streamed upload.
  std::string peer;                            ///< "127.0.0.1:40112"
  Principal principal;                         ///< Empty on an open route.

  [[nodiscard]] std::string_view header(const std::string& lower_case_name) const;
  [[nodiscard]] std::string_view param(const std::string& name) const;
  [[nodiscard]] std::string_view argument(const std::string& query_name) const;
};

/// A file that is read while it is sent; a Range header is honoured.
struct FileBody {
  std::filesystem::path file;
};

/// Bytes in memory for which a Range header is honoured.
struct RangedBody {
  std::string bytes;
};

struct Response {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  std::variant<std::string, RangedBody, FileBody, std::shared_ptr<EventStream>> body;
};

[[nodiscard]] Response text_response(unsigned status, std::string content_type, std::string body);

/// One entry of a problem's `errors`; line and column are 1-based, 0 = unknown.
struct ProblemItem {
  int line = 0;
  int column = 0;
  std::string message;
  Errc code = Errc::bad_value;
};

/// application/problem+json with code, label and hint from the registry. The status follows from
/// the code.
[[nodiscard]] Response problem(const Error& error, const std::vector<ProblemItem>& items = {});
/// The same with a status of the caller's choice (404 on a route, 405, 422).
[[nodiscard]] Response problem_with_status(unsigned status, const Error& error,
                                           const std::vector<ProblemItem>& items = {});
[[nodiscard]] unsigned status_of(Errc code);

/// Takes the body of an upload piece by piece.
class UploadSink {
 public:
  UploadSink() = default;
  UploadSink(const UploadSink&) = delete;
  UploadSink& operator=(const UploadSink&) = delete;
  virtual ~UploadSink() = default;  ///< Without finish(): what came so far is dropped.
  virtual boost::asio::awaitable<Result<void>> write(std::string piece) = 0;
  virtual boost::asio::awaitable<Response> finish() = 0;
};

/// Runs on the server's loop. The request is the handler's own.
using Handler = std::function<boost::asio::awaitable<Response>(Request)>;
using SyncHandler = std::function<Response(const Request&)>;
/// Called when the header is there and before any of the body: refuses early or opens a sink.
using UploadHandler = std::function<Result<std::unique_ptr<UploadSink>>(const Request&)>;

/// Bearer tokens with constant-time comparison: kept as digests, all of them compared each time.
class TokenTable {
 public:
  void add(std::string_view token, Principal principal);
  [[nodiscard]] std::optional<Principal> check(std::string_view token) const;
  [[nodiscard]] bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    Digest digest;
    Principal principal;
  };
  std::vector<Entry> entries_;
};

}  // namespace cupel::http
