/// Finds the route of a request; decodes targets; reads Range headers. Pure.
#pragma once

#include "common/http/message.hpp"
#include "common/http/server.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::http {

struct Route {
  std::string method;
  std::string pattern;
  std::vector<std::string> segments;
  Handler handler;
  UploadHandler upload;  ///< Set instead of `handler` on an upload route.
  std::uint64_t bytes_max = 0;
  RouteOptions options;
};

struct Target {
  std::vector<std::string> segments;  ///< Decoded.
  std::string path;                   ///< Decoded.
  std::map<std::string, std::string> query;
};
/// Nothing for a target that is no absolute path, has a malformed escape or a NUL.
[[nodiscard]] std::optional<Target> parse_target(std::string_view target);

class Router {
 public:
  void add(Route route);
  [[nodiscard]] const std::vector<Route>& routes() const { return routes_; }
  struct Match {
    const Route* route = nullptr;  ///< Valid as long as the router is not changed.
    std::map<std::string, std::string> params;
    std::string allowed;  ///< Methods of the path, when only the method is wrong.
  };
  /// HEAD is answered by GET's route.
  [[nodiscard]] Match find(std::string_view method, const Target& target) const;

 private:
  std::vector<Route> routes_;
};

struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t length = 0;
};
struct RangeAnswer {
  enum class Kind : std::uint8_t { whole, part, unsatisfiable } kind = Kind::whole;
  ByteRange range;
};
/// A single "bytes=" range; anything else means the whole, as the standard allows.
[[nodiscard]] RangeAnswer parse_range(std::string_view header, std::uint64_t size);

}  // namespace cupel::http
