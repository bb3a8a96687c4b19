/// Terms of a coordinator: begins one where nobody else can lead, or when it wins the leader's
/// seat, and ends it when that or the store is lost.
#pragma once

#include "coordinator/app/control_loop.hpp"
#include "coordinator/app/leadership.hpp"
#include "coordinator/app/readiness.hpp"
#include "coordinator/app/term.hpp"
#include "coordinator/http/event_hub.hpp"

#include <boost/asio/io_context.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace cupel::coordinator {

/// All of them outlive the object.
struct LeadParts {
  boost::asio::io_context& loop;  ///< The control loop.
  const Options& options;
  ControlLoop& control;
  http::EventHub& events;
  fs::ArtifactStore& artifacts;
  CoordinatorMetrics& metrics;
  Readiness& readiness;
  std::function<void()> began;              ///< A term has begun after a time without one.
  std::function<void(const Error&)> fatal;  ///< The process must end.
};

/// On the control loop, but for what says otherwise.
class Lead {
 public:
  explicit Lead(LeadParts parts) : parts_(std::move(parts)) {}
  ~Lead() { stop(); }
  Lead(const Lead&) = delete;
  Lead& operator=(const Lead&) = delete;

  /// For a store that is this process's own: the term begins now. Errors: those of Term::open().
  [[nodiscard]] Result<void> begin_alone();
  /// For one that several can reach: stands for the lead from now on.
  void stand();

  /// Nobody else can lead right now. Any thread.
  [[nodiscard]] bool certain() const { return !leadership_ || leadership_->certain(); }
  /// A term is under way. Any thread.
  [[nodiscard]] bool leads() const { return leads_; }
  /// Why a request of the API can't be served; nothing while it can. Any thread.
  [[nodiscard]] std::optional<Error> refuse(std::string_view route) const;

  /// certain() has become false in a term.
  void lapsed();
  /// The store failed, or refused: its writer is not to be trusted.
  void store_lost(const Error& why);
  /// The process ends. What the term has accepted for its own store is committed.
  void stop();

 private:
  void elected(const sql::Leader& leader);
  void opened(std::uint64_t epoch, Result<std::unique_ptr<Term>> term);
  void begin(std::unique_ptr<Term> term);
  void end(const Error& why);
  void stand_by(const std::string& why);

  LeadParts parts_;
  std::unique_ptr<Term> term_;
  std::unique_ptr<Leadership> leadership_;
  std::atomic<bool> leads_{false};
  std::uint64_t elected_ = 0;  ///< The newest epoch that was won.
  std::string last_failure_;   ///< Of an opening; told once.
  std::thread opening_;        ///< Opens a term.
  std::atomic<bool> opening_runs_{false};
};

}  // namespace cupel::coordinator
