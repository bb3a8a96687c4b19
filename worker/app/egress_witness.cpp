#include "worker/app/egress_witness.hpp"

#include <utility>

namespace cupel::worker {

boost::asio::awaitable<RunReport> EgressWitness::run(RunRequest request,
                                                     std::shared_ptr<CancelToken> cancel,
                                                     OutputSink output) {
  request.enforced_egress = request.enforced_egress || demanded_;
  RunReport report = co_await runs_.run(std::move(request), std::move(cancel), std::move(output));
  if (report.egress == "configured" || (report.egress == "enforced" && mode_ == "none")) {
    mode_ = report.egress;
  }
  for (const std::string& line : report.egress_refused) {
    if (refused_.size() < kRefusedMax) refused_.push_back(line);
  }
  co_return report;
}

}  // namespace cupel::worker
