#include "common/app/metrics.hpp"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

namespace cupel::app {
namespace {

using prometheus::Labels;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  statm >> total >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double open_fds() {
  std::error_code ec;
  double count = 0;
  for (auto it = std::filesystem::directory_iterator("/proc/self/fd", ec);
       !ec && it != std::filesystem::directory_iterator(); it.increment(ec)) {
    count += 1;
  }
  return count > 0 ? count - 1 : 0;  // the listing's own
}

double max_fds() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<double>(limit.rlim_cur);
}

double now_seconds() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

// The registry has no process collector, and its counters can't be set: so these are made at
// scrape.
prometheus::MetricFamily process_family(const char* name, const char* help,
                                        prometheus::MetricType type, double value) {
  prometheus::ClientMetric metric;
  if (type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  return {.name = name, .help = help, .type = type, .metric = {metric}};
}

}  // namespace

const std::vector<double>& wait_buckets() {
  static const std::vector<double> kBuckets = {1, 3, 10, 30, 60, 120, 300, 900, 1800, 3600, 7200};
  return kBuckets;
}
const std::vector<double>& run_buckets() {
  static const std::vector<double> kBuckets = {1, 5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600};
  return kBuckets;
}
const std::vector<double>& engine_buckets() {
  static const std::vector<double> kBuckets = {0.01, 0.05, 0.25, 1, 2.5, 5, 10, 30};
  return kBuckets;
}
const std::vector<double>& http_buckets() {
  static const std::vector<double> kBuckets = {0.005, 0.025, 0.1, 0.5, 1, 5, 10};
  return kBuckets;
}

struct Metrics::State {
  prometheus::Registry registry{prometheus::Registry::InsertBehavior::Merge};
  double started = now_seconds();
  std::mutex mutex;
  std::map<std::string, prometheus::Family<prometheus::Counter>*> counters;
  std::map<std::string, prometheus::Family<prometheus::Gauge>*> gauges;
  std::map<std::string, prometheus::Family<prometheus::Histogram>*> histograms;
  std::vector<std::function<void()>> refreshers;
  std::map<std::string, prometheus::Counter*, std::less<>> log_levels;
};

Metrics::Metrics(std::string component, std::string version, std::string revision)
    : state_(std::make_unique<State>()) {
  gauge("cupel_build_info", "Build that is running",
        {{"component", std::move(component)},
         {"version", std::move(version)},
         {"revision", std::move(revision)}})
      .Set(1);
  for (const char* level : {"trace", "debug", "info", "warning", "error", "critical"}) {
    state_->log_levels[level] =
        &counter("cupel_log_messages_total", "Lines written to the log", {{"level", level}});
  }
}

Metrics::~Metrics() = default;

prometheus::Counter& Metrics::counter(const std::string& name, const std::string& help,
                                      const Labels& labels) {
  const std::lock_guard lock(state_->mutex);
  auto*& family = state_->counters[name];
  if (family == nullptr) {
    family = &prometheus::BuildCounter().Name(name).Help(help).Register(state_->registry);
  }
  return family->Add(labels);
}

prometheus::Gauge& Metrics::gauge(const std::string& name, const std::string& help,
                                  const Labels& labels) {
  const std::lock_guard lock(state_->mutex);
  auto*& family = state_->gauges[name];
  if (family == nullptr)
    family = &prometheus::BuildGauge().Name(name).Help(help).Register(state_->registry);
  return family->Add(labels);
}

prometheus::Histogram& Metrics::histogram(const std::string& name, const std::string& help,
                                          const std::vector<double>& buckets,
                                          const Labels& labels) {
  const std::lock_guard lock(state_->mutex);
  auto*& family = state_->histograms[name];
  if (family == nullptr) {
    family = &prometheus::BuildHistogram().Name(name).Help(help).Register(state_->registry);
  }
  return family->Add(labels, buckets);
}

void Metrics::before_scrape(std::function<void()> refresh) {
  const std::lock_guard lock(state_->mutex);
  state_->refreshers.push_back(std::move(refresh));
}

std::string Metrics::text() {
  std::vector<std::function<void()>> refreshers;
  {
    const std::lock_guard lock(state_->mutex);
    refreshers = state_->refreshers;
  }
  for (const auto& refresh : refreshers) refresh();
  auto families = state_->registry.Collect();
  using prometheus::MetricType;
  families.push_back(process_family("process_cpu_seconds_total", "User and system CPU time spent",
                                    MetricType::Counter, cpu_seconds()));
  families.push_back(process_family("process_resident_memory_bytes", "Resident memory",
                                    MetricType::Gauge, resident_bytes()));
  families.push_back(
      process_family("process_open_fds", "Open file descriptors", MetricType::Gauge, open_fds()));
  families.push_back(process_family("process_max_fds", "Limit of open file descriptors",
                                    MetricType::Gauge, max_fds()));
  families.push_back(process_family("process_start_time_seconds",
                                    "Start of the process since the epoch", MetricType::Gauge,
                                    state_->started));
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return out.str();
}

std::function<void(std::string_view)> Metrics::log_counter() {
  return [state = state_.get()](std::string_view level) {
    // The map is complete since construction, so that reading needs no lock.
    if (const auto found = state->log_levels.find(level); found != state->log_levels.end()) {
      found->second->Increment();
    }
  };
}

LoopLag::LoopLag(const boost::asio::any_io_executor& loop, prometheus::Gauge& gauge)
    : timer_(loop), gauge_(gauge) {
  arm();
}

LoopLag::~LoopLag() {
  stop();
}

prometheus::Gauge& LoopLag::gauge(Metrics& metrics, const std::string& loop) {
  return metrics.gauge("cupel_event_loop_lag_seconds",
                       "How late the last timer of an event loop was", {{"loop", loop}});
}

void LoopLag::stop() {
  stopped_ = true;
  timer_.cancel();
}

void LoopLag::arm() {
  timer_.expires_after(std::chrono::seconds(1));
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (ec || stopped_) return;
    gauge_.Set(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - timer_.expiry()).count());
    arm();
  });
}

}  // namespace cupel::app
