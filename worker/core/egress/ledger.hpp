/// Which runs may use the proxy, for what, and what each of them did. Pure: the time is passed in.
#pragma once

#include "common/core/time.hpp"
#include "worker/core/egress/request.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cupel::worker::egress {

/// What one run may do.
struct Allowance {
  AllowList allowed;
  std::uint64_t bytes_max = 0;  ///< Both directions together.
  TimePoint until;
  std::uint32_t connections_max = 64;  ///< At once.
  std::string peer = {};  ///< The only one that may use it; empty: the first that does.
};

struct RefusalNote {
  std::string what;
  Refused why = Refused::malformed;
  std::uint32_t times = 1;
};

/// What became of a run's allowance.
struct Traffic {
  std::uint64_t bytes = 0;
  std::uint32_t connections = 0;
  std::vector<RefusalNote> refused;  ///< The first kRefusalsMax different ones.
  std::uint32_t refused_more = 0;    ///< Others beyond these.
};
inline constexpr std::size_t kRefusalsMax = 32;

class Ledger {
 public:
  /// `secret` at least 128 random bits, as text.
  void open(const std::string& run, std::string secret, Allowance allowance);
  /// Its credentials mean nothing from now on.
  [[nodiscard]] Traffic close(const std::string& run);

  /// May this request, from the peer at this address, begin? The first good request of a run binds
  /// its credentials to the address that it came from. A refusal is noted.
  [[nodiscard]] std::variant<Target, Refused> admit(const ProxyRequest& request,
                                                    std::string_view peer, TimePoint now);
  /// The end of what admit() let begin.
  void ended(const std::string& run);
  /// Takes bytes off the allowance. False: none are left, or the time is over; end the connection.
  [[nodiscard]] bool take(const std::string& run, std::uint64_t bytes, TimePoint now);
  void note(const std::string& run, std::string what, Refused why);

  [[nodiscard]] std::size_t size() const { return runs_.size(); }
  /// Refusals of nobody's: unknown credentials, or none.
  [[nodiscard]] std::uint64_t strangers() const { return strangers_; }

 private:
  struct Run {
    std::string secret;
    Allowance allowance;
    std::string peer;
    std::uint32_t open = 0;
    Traffic traffic;
  };
  std::map<std::string, Run> runs_;
  std::uint64_t strangers_ = 0;
};

/// "egress refused: CONNECT example.com:443 (target), 3 times", for people and evidence.
[[nodiscard]] std::vector<std::string> refusal_lines(const Traffic& traffic);

}  // namespace cupel::worker::egress
