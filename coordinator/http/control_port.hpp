/// What the HTTP API asks of the control loop. Called on the HTTP loop; answers come back to it.
#pragma once

#include "coordinator/core/actions.hpp"
#include "coordinator/core/machine.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cupel::coordinator::http {

class ControlPort {
 public:
  ControlPort() = default;
  ControlPort(const ControlPort&) = delete;
  ControlPort& operator=(const ControlPort&) = delete;
  virtual ~ControlPort() = default;

  /// `request` of the events is filled in here. Answered after the commit. Errors: those of the
  /// machine, not_ready while the coordinator stops.
  virtual boost::asio::awaitable<Result<Reply::Done>> submit(SubmitCampaign event) = 0;
  virtual boost::asio::awaitable<Result<Reply::Done>> cancel(CampaignId campaign) = 0;
  /// True pauses it, false lets it go on.
  virtual boost::asio::awaitable<Result<Reply::Done>> pause(CampaignId campaign, bool paused) = 0;
  virtual boost::asio::awaitable<Result<Reply::Done>> order(OrderWorkers event) = 0;
  virtual boost::asio::awaitable<Result<Reply::Done>> replay(ReplayDeadLetter event) = 0;
  virtual boost::asio::awaitable<Result<Reply::Done>> drop(DropDeadLetter event) = 0;
  virtual boost::asio::awaitable<std::vector<WorkerView>> workers() = 0;
  /// Nothing for what isn't open.
  virtual boost::asio::awaitable<std::optional<Explanation>> explain(TaskId task) = 0;
  virtual boost::asio::awaitable<std::optional<Explanation>> explain(UnitId unit) = 0;
  virtual boost::asio::awaitable<std::optional<CampaignExplanation>> explain(CampaignId id) = 0;
  /// Brings the metrics of the control loop up to date; they are read afterwards.
  virtual boost::asio::awaitable<bool> refresh_metrics() = 0;
};

}  // namespace cupel::coordinator::http
