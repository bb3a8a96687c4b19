#include "worker/egress/host_firewall.hpp"

#include "worker/git/child_process.hpp"

#include <arpa/inet.h>
#include <array>
#include <cstdlib>
#include <fstream>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netinet/in.h>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cupel::worker::egress {

namespace asio = boost::asio;

namespace {

// Some kernels have no nf_tables; the legacy program then does the same work.
constexpr std::array kV4 = {"/usr/sbin/iptables", "/usr/sbin/iptables-legacy"};
constexpr std::array kV6 = {"/usr/sbin/ip6tables", "/usr/sbin/ip6tables-legacy"};
constexpr Duration kLimit = std::chrono::seconds(20);
constexpr const char* kWhatToDo =
    "run the worker as root, or with CAP_NET_ADMIN and CAP_NET_RAW, with Debian's package iptables "
    "installed, on a kernel with br_netfilter";

Error missing(std::string what, std::string detail = {}) {
  return {.code = Errc::unsafe_sandbox,
          .what = std::move(what),
          .detail = std::move(detail),
          .hint = kWhatToDo};
}

asio::awaitable<Result<void>> run(std::string program, std::vector<std::string> arguments) {
  ChildSpec spec;
  spec.argv = {std::move(program), "-w", "10"};
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  spec.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"};
  spec.directory = "/";
  spec.limit = kLimit;
  const std::string shown = spec.argv.front() + " of " + arguments.back();
  const auto ended = co_await run_child(std::move(spec), std::make_shared<CancelToken>());
  if (!ended) co_return ended.error();
  if (ended->ended_by == ChildEnd::itself && ended->exit_code == 0) co_return Result<void>();
  co_return missing(shown + " failed", capped_detail(ended->err));
}

asio::awaitable<Result<void>> carry_out(std::string program, std::vector<RuleStep> steps) {
  for (RuleStep& step : steps) {
    if (!step.unless.empty()) {
      const auto there = co_await run(program, step.unless);
      if (there) continue;
    }
    auto done = co_await run(program, step.arguments);
    if (!done && !step.may_fail) co_return done.error();
  }
  co_return Result<void>();
}

std::string first_line(const std::string& file) {
  std::string line;
  std::ifstream in(file);
  std::getline(in, line);
  return line;
}

std::string v6_switch(const std::string& bridge) {
  return "/proc/sys/net/ipv6/conf/" + bridge + "/disable_ipv6";
}

/// No IPv6 on the bridge, or none in this kernel.
bool without_ipv6(const std::string& bridge) {
  if (::access("/proc/sys/net/ipv6", F_OK) != 0) return true;
  std::ofstream(v6_switch(bridge)) << "1\n";
  return first_line(v6_switch(bridge)) == "1";
}

}  // namespace

bool HostFirewall::permitted() {
  constexpr std::string_view kEffective = "CapEff:\t";
  constexpr unsigned kNetAdmin = 12;
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(kEffective)) continue;
    return (std::strtoull(line.c_str() + kEffective.size(), nullptr, 16) >> kNetAdmin & 1U) != 0;
  }
  return false;
}

asio::awaitable<Result<void>> HostFirewall::install(Bridge bridge) {
  if (!permitted()) co_return missing("this process may not change the host's packet filter");
  Result<void> done = missing("there is no iptables here");
  v4_.clear();
  for (const char* const program : kV4) {
    if (::access(program, X_OK) != 0) continue;
    done = co_await carry_out(program, rules_v4(bridge));
    if (done) {
      v4_ = program;
      break;
    }
  }
  if (!done) co_return done.error();
  bool v6 = without_ipv6(bridge.name);
  for (const char* const program : kV6) {
    if (::access(program, X_OK) != 0) continue;
    const auto dropped = co_await carry_out(program, rules_v6(bridge));
    if (!dropped) continue;
    v6 = true;
    break;
  }
  if (!v6) co_return missing("IPv6 can neither be filtered nor switched off on " + bridge.name);
  co_return co_await verify(std::move(bridge));
}

asio::awaitable<Result<void>> HostFirewall::verify(Bridge bridge) const {
  if (v4_.empty()) co_return missing("the rules were never made");
  if (first_line("/proc/sys/net/bridge/bridge-nf-call-iptables") != "1") {
    co_return missing("frames between containers go past the host's packet filter",
                      "net.bridge.bridge-nf-call-iptables is not 1");
  }
  for (std::vector<std::string>& check : checks_v4(bridge)) {
    const auto there = co_await run(v4_, std::move(check));
    if (!there) co_return missing("a rule for " + bridge.name + " is gone", there.error().detail);
  }
  co_return Result<void>();
}

asio::awaitable<void> HostFirewall::remove(std::string bridge) {
  for (const auto& programs : {kV4, kV6}) {
    for (const char* const program : programs) {
      if (::access(program, X_OK) != 0) continue;
      (void)co_await carry_out(program, removal(bridge));
    }
  }
}

bool host_has(const std::string& interface, const std::string& address) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return false;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owned(list, &::freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET ||
        interface != entry->ifa_name) {
      continue;
    }
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    std::array<char, INET_ADDRSTRLEN> text{};
    ::inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size());
    if (address == text.data()) return true;
  }
  return false;
}

}  // namespace cupel::worker::egress
