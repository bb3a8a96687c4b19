/// Passes runs on and remembers what their networks were: an attempt's evidence.
#pragma once

#include "worker/ports/run_port.hpp"

#include <string>
#include <vector>

namespace cupel::worker {

class EgressWitness final : public RunPort {
 public:
  /// `demanded`: a run that has a network starts only where that is enforced.
  EgressWitness(RunPort& runs, bool demanded) : runs_(runs), demanded_(demanded) {}

  [[nodiscard]] boost::asio::awaitable<RunReport> run(RunRequest request,
                                                      std::shared_ptr<CancelToken> cancel,
                                                      OutputSink output) override;
  /// The weakest of all runs that had a network: "configured" before "enforced"; "none" without.
  [[nodiscard]] const std::string& mode() const { return mode_; }
  /// What they asked for and didn't get: at most kRefusedMax lines.
  [[nodiscard]] const std::vector<std::string>& refused() const { return refused_; }
  static constexpr std::size_t kRefusedMax = 64;

 private:
  RunPort& runs_;
  bool demanded_;
  std::string mode_ = "none";
  std::vector<std::string> refused_;
};

}  // namespace cupel::worker
