#include "worker/core/egress/upstream_guard.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>

namespace cupel::worker::egress {

namespace {

constexpr unsigned kTooMany = 429;
constexpr unsigned kServerError = 500;

double seconds_of(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

std::optional<Duration> parse_retry_after(std::string_view value) {
  std::uint32_t seconds = 0;
  const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  if (value.empty() || failure != std::errc() || end != value.data() + value.size()) {
    return std::nullopt;
  }
  return std::chrono::seconds(seconds);
}

Duration UpstreamGuard::permit(const std::string& name, TimePoint now) {
  const auto [found, fresh] = hosts_.try_emplace(name);
  Host& host = found->second;
  if (fresh) {
    host.tokens = limits_.burst;
    host.filled = now;
  }
  if (now < host.not_before) return host.not_before - now;
  // One request finds out whether a host that failed is back; the others wait for its answer.
  if (host.broken && host.probing) return std::chrono::milliseconds(500);
  const double added = seconds_of(now - host.filled) * limits_.per_second;
  host.tokens = std::min(limits_.burst, host.tokens + added);
  host.filled = now;
  if (host.tokens < 1) {
    const auto wait = std::chrono::duration<double>((1 - host.tokens) / limits_.per_second);
    return std::max<Duration>(std::chrono::duration_cast<Duration>(wait),
                              std::chrono::milliseconds(1));
  }
  host.tokens -= 1;
  host.probing = host.broken;
  return {};
}

void UpstreamGuard::fail(Host& host, TimePoint now) {
  ++host.failures;
  const bool probe_failed = host.broken;
  host.probing = false;
  if (!probe_failed && host.failures < limits_.failures) return;
  if (now < host.not_before) return;  // others that were under way when it opened
  const auto doublings = std::min(host.openings, 16U);
  host.not_before = now + std::min(limits_.pause * (1U << doublings), limits_.pause_max);
  host.broken = true;
  ++host.openings;
}

void UpstreamGuard::failed(const std::string& name, TimePoint now) {
  const auto found = hosts_.find(name);
  if (found != hosts_.end()) fail(found->second, now);
}

void UpstreamGuard::answered(const std::string& name, unsigned status, std::string_view retry_after,
                             TimePoint now) {
  const auto found = hosts_.find(name);
  if (found == hosts_.end()) return;
  Host& host = found->second;
  if (status != kTooMany && status < kServerError) {
    host.failures = 0;
    host.openings = 0;
    host.broken = false;
    host.probing = false;
    return;
  }
  fail(host, now);
  if (const auto wait = parse_retry_after(retry_after)) {
    host.not_before = std::max(host.not_before, now + std::min(*wait, limits_.retry_after_max));
  }
}

bool UpstreamGuard::open(const std::string& name, TimePoint now) const {
  const auto found = hosts_.find(name);
  return found != hosts_.end() && found->second.broken && now < found->second.not_before;
}

std::optional<Duration> UpstreamGuard::closed_for(TimePoint now) const {
  std::optional<Duration> shortest;
  for (const auto& [name, host] : hosts_) {
    if (!host.broken || now >= host.not_before) return std::nullopt;
    const Duration left = host.not_before - now;
    shortest = shortest ? std::min(*shortest, left) : left;
  }
  return shortest;
}

}  // namespace cupel::worker::egress
