/// Base of a program's metrics: registry, the process's own figures, build info, text form.
///
/// Rules: every label set is created at start (a counter born at 1 is invisible to increase()),
/// closed label values only, references are kept (a lookup costs more than an increment), no
/// Summary, help without line breaks. All methods are thread-safe; references live as long as the
/// Metrics object.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/labels.h>
#include <prometheus/registry.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::app {

/// Buckets of the catalogue, in seconds.
[[nodiscard]] const std::vector<double>& wait_buckets();
[[nodiscard]] const std::vector<double>& run_buckets();
[[nodiscard]] const std::vector<double>& engine_buckets();
[[nodiscard]] const std::vector<double>& http_buckets();

class Metrics {
 public:
  /// `component` is "coordinator" or "worker"; creates cupel_build_info and
  /// cupel_log_messages_total.
  Metrics(std::string component, std::string version, std::string revision);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  /// The same name with other labels adds to the same family; its help is that of the first call.
  prometheus::Counter& counter(const std::string& name, const std::string& help,
                               const prometheus::Labels& labels = {});
  prometheus::Gauge& gauge(const std::string& name, const std::string& help,
                           const prometheus::Labels& labels = {});
  prometheus::Histogram& histogram(const std::string& name, const std::string& help,
                                   const std::vector<double>& buckets,
                                   const prometheus::Labels& labels = {});

  /// `refresh` runs before every text(), on its thread: for gauges that are counted at scrape.
  void before_scrape(std::function<void()> refresh);
  /// Text exposition format 0.0.4, with the process_* figures; serve it as kMetricsContentType.
  [[nodiscard]] std::string text();
  /// For start_log().
  [[nodiscard]] std::function<void(std::string_view level)> log_counter();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

inline constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

/// Exports how late an event loop is: cupel_event_loop_lag_seconds{loop}, the largest delay of a
/// timer in the last second. Lives on the loop's thread; destroyed there or after the loop has
/// ended.
class LoopLag {
 public:
  LoopLag(const boost::asio::any_io_executor& loop, prometheus::Gauge& gauge);
  ~LoopLag();
  LoopLag(const LoopLag&) = delete;
  LoopLag& operator=(const LoopLag&) = delete;
  /// The gauge of a loop: "control", "bulk", "http", "run".
  [[nodiscard]] static prometheus::Gauge& gauge(Metrics& metrics, const std::string& loop);
  void stop();

 private:
  void arm();
  boost::asio::steady_timer timer_;
  prometheus::Gauge& gauge_;
  bool stopped_ = false;
};

}  // namespace cupel::app
