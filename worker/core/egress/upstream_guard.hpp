/// How hard module proxies may be asked: a rate for each host, its own word on when to come back
/// (Retry-After), and a breaker that leaves a failing one alone. Pure: the time is passed in.
#pragma once

#include "common/core/time.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace cupel::worker::egress {

struct GuardLimits {
  double per_second = 50;                     ///< Requests to one host, in the long run.
  double burst = 200;                         ///< At once after a pause.
  std::uint32_t failures = 8;                 ///< One after the other, until the breaker opens.
  Duration pause = std::chrono::seconds(15);  ///< Of the first opening; doubles.
  Duration pause_max = std::chrono::minutes(5);
  Duration retry_after_max = std::chrono::minutes(5);  ///< Longer words of a host are cut to it.
};

class UpstreamGuard {
 public:
  explicit UpstreamGuard(GuardLimits limits) : limits_(limits) {}

  /// `name`: of a host. Zero: ask now (and tell answered() or failed() afterwards). Else how long
  /// to wait and ask this again.
  [[nodiscard]] Duration permit(const std::string& name, TimePoint now);
  /// An answer arrived. `status` 0: a connection, of which nothing more is seen. 429 and 5xx count
  /// as failures.
  void answered(const std::string& name, unsigned status, std::string_view retry_after,
                TimePoint now);
  void failed(const std::string& name, TimePoint now);

  /// How long every host that is left alone stays so; nothing while any may be asked, or none is
  /// known. For the pause of work that needs them.
  [[nodiscard]] std::optional<Duration> closed_for(TimePoint now) const;
  [[nodiscard]] bool open(const std::string& name, TimePoint now) const;

 private:
  struct Host {
    double tokens = 0;
    TimePoint filled;
    std::uint32_t failures = 0;  ///< One after the other.
    std::uint32_t openings = 0;  ///< Since the last success.
    TimePoint not_before{};      ///< By its own word, or the breaker's.
    bool broken = false;         ///< The breaker is open, or lets one probe pass.
    bool probing = false;
  };
  void fail(Host& host, TimePoint now);

  GuardLimits limits_;
  std::map<std::string, Host> hosts_;
};

/// Seconds, or nothing: a date is not worth a clock in here. Source: RFC 9110, section 10.2.3.
[[nodiscard]] std::optional<Duration> parse_retry_after(std::string_view value);

}  // namespace cupel::worker::egress
