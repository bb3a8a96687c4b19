/// Every metric of the coordinator: names, labels and help in one place; all label sets are born at
/// zero.
#pragma once

#include "common/app/metrics.hpp"
#include "common/net/router.hpp"
#include "common/wire/bulk.hpp"
#include "coordinator/core/actions.hpp"
#include "coordinator/core/counters.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::coordinator {

class CoordinatorMetrics {
 public:
  explicit CoordinatorMetrics(app::Metrics& base);

  // Control loop:
  void update(const Counters& counters, const Gauges& gauges, const net::RouterCounters& link);
  void observe(const Observe& sample);
  /// A new machine counts from zero: what it counts is added to what was counted before.
  void machine_began();
  /// Whether this coordinator leads, and since which epoch (0: no other could).
  void leads(bool now, std::uint64_t epoch);
  // Store writer and readers:
  void committed(std::size_t transitions, double seconds, bool ok);
  void read(std::string_view op, double seconds, bool ok);
  // Retention:
  enum class Kept : std::uint8_t { events, artifacts };
  void retention_removed(Kept what, std::uint64_t count);
  void retention_failed(Kept what);
  void retention_passed(Kept what, WallTime at);
  void artifacts(std::uint64_t count, std::uint64_t bytes);
  // Bulk loop:
  void update(const wire::BulkCounters& counters, const net::RouterCounters& link);
  // HTTP loop:
  void know_routes(const std::vector<std::string>& patterns);
  void http_request(const std::string& route, unsigned status, double seconds);
  void sse_clients(int change);
  void sse_dropped();

 private:
  using Counter = prometheus::Counter;
  using Gauge = prometheus::Gauge;
  /// A counter of ours that follows a number counted elsewhere.
  struct Followed {
    Counter* counter = nullptr;
    std::uint64_t seen = 0;
    void follow(std::uint64_t value) {
      // It has begun anew: machine_began().
      if (value > seen) counter->Increment(static_cast<double>(value - seen));
      seen = value;
    }
  };
  /// What the socket of one plane counts.
  struct LinkNumbers {
    Followed denied;
    Followed failed;
    Followed untrusted;
    Followed malformed;
    Followed backpressure;
    void follow(const net::RouterCounters& link);
  };
  Followed followed(const std::string& name, const std::string& help,
                    const prometheus::Labels& labels = {});
  void make_task_metrics();
  void make_fleet_metrics();
  void make_bus_metrics();
  void make_link_metrics(LinkNumbers& link, const char* plane);
  void make_store_and_http_metrics();
  void make_retention_metrics();
  void follow(const Counters& counters);

  app::Metrics& base_;
  std::array<Gauge*, kTaskKinds> queued_{};
  std::array<Gauge*, kTaskKinds> running_{};
  std::array<std::array<Followed, kOutcomes>, kTaskKinds> completed_{};
  std::array<Followed, kVerdicts> units_{};
  std::array<prometheus::Histogram*, kTaskKinds> queue_wait_{};
  std::array<prometheus::Histogram*, kTaskKinds> run_{};
  Gauge* blocked_ = nullptr;
  Gauge* oldest_ = nullptr;
  std::map<std::string, Followed> retries_;
  std::map<std::string, Followed> fenced_;
  Followed dead_letters_;
  Followed baselines_reused_;
  std::map<std::string, Followed> letters_handled_;
  Gauge* campaigns_running_ = nullptr;
  Gauge* campaigns_paused_ = nullptr;
  Followed campaigns_finished_;
  Followed campaigns_cancelled_;
  Gauge* slots_ = nullptr;
  Gauge* slots_used_ = nullptr;
  Gauge* slots_wanted_ = nullptr;
  std::map<std::string, Gauge*> workers_;
  std::map<std::string, Followed> quarantines_;
  Followed releases_;
  std::map<std::string, Followed> probes_;
  Followed workers_lost_;
  Followed leases_expired_;
  std::array<Followed, kFromWorkerTypes> received_{};
  std::array<Followed, kToWorkerTypes> sent_{};
  Followed malformed_;
  Followed bulk_malformed_;
  Followed rate_limited_;
  Followed bulk_rate_limited_;
  std::map<std::string, Followed> sessions_;
  std::map<std::string, Followed> bulk_;
  Followed leases_renewed_;
  Followed leases_overrun_;
  LinkNumbers control_link_;
  LinkNumbers bulk_link_;
  Followed untrusted_behind_;  ///< Noticed behind the control socket.
  Followed log_bytes_;
  Counter* commits_ = nullptr;
  Counter* commit_failures_ = nullptr;
  Counter* transitions_ = nullptr;
  prometheus::Histogram* commit_seconds_ = nullptr;
  Counter* reads_ = nullptr;
  Counter* read_failures_ = nullptr;
  prometheus::Histogram* read_seconds_ = nullptr;
  struct Retained {
    Counter* removed = nullptr;
    Counter* failures = nullptr;
    Gauge* last_success = nullptr;
  };
  std::array<Retained, 2> retained_{};
  Gauge* artifacts_ = nullptr;
  Gauge* artifact_bytes_ = nullptr;
  Gauge* leader_ = nullptr;
  Gauge* epoch_ = nullptr;
  Counter* terms_ = nullptr;
  std::map<std::string, std::array<Counter*, 4>> requests_;
  prometheus::Histogram* request_seconds_ = nullptr;
  Gauge* sse_clients_ = nullptr;
  Counter* sse_dropped_ = nullptr;
};

}  // namespace cupel::coordinator
