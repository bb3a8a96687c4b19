// queue_memory [N]: resident memory of the coordinator's core with N queued tasks (a million), and
// the time of scheduling decisions among them. One JSON object a line.
#include "coordinator/core/machine.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <unistd.h>

namespace {

using namespace cupel;
using namespace cupel::coordinator;

double resident_mib() {
  std::ifstream statm("/proc/self/statm");
  long pages = 0;
  statm >> pages >> pages;
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) /
         (1024.0 * 1024.0);
}

// A store that answers at once and keeps nothing.
void carry_out(Machine& machine, Now now) {
  for (bool more = true; more;) {
    more = false;
    for (Action& action : machine.take()) {
      const auto* commit = std::get_if<Commit>(&action);
      if (commit == nullptr) continue;
      std::map<TaskId, std::string> specs;
      for (const Transition& transition : commit->transitions) {
        if (const auto* leased = std::get_if<TaskLeased>(&transition)) {
          specs[leased->id] = R"({"kind":"acquire","work":{"no_op":{}}})";
        }
      }
      machine.on(StoreCommitted{commit->batch, std::move(specs)}, now);
      more = true;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t wanted = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  constexpr std::uint64_t kPerCampaign = 100'000;
  const Now now{TimePoint{std::chrono::hours(1)}, WallTime{1}};
  Machine machine({}, {}, {}, now);
  machine.on(TrustChanged{{{"k", "n", {}}}}, now);
  const double before = resident_mib();
  for (std::uint64_t made = 0; made < wanted; made += kPerCampaign) {
    SubmitCampaign submit;
    submit.request = made + 1;
    submit.owner = "owner" + std::to_string(made / kPerCampaign % 4);
    submit.document = std::to_string(made);
    for (std::uint64_t i = 0; i < std::min(kPerCampaign, wanted - made); ++i) {
      campaign::RepositoryEntry entry;
      entry.source = GitSource{
          "https://example.com/organisation/repository-" + std::to_string(made + i), "main"};
      submit.campaign.repositories.push_back(std::move(entry));
    }
    machine.on(std::move(submit), now);
    carry_out(machine, now);
  }
  const double after = resident_mib();
  std::printf(
      R"({"name":"core_memory","queued":%llu,"value":%.1f,"unit":"MiB","bytes_per_task":%.0f})"
      "\n",
      static_cast<unsigned long long>(machine.gauges().queued[0]), after,
      (after - before) * 1024 * 1024 / static_cast<double>(wanted));

  Hello hello;
  hello.protocol_min = hello.protocol_max = 1;
  hello.worker = WorkerId{1};
  hello.incarnation = Incarnation{1};
  hello.capacity.slots = 256;
  hello.beat = 1;
  machine.on(MessageReceived{"k", "r", hello}, now);
  const auto begun = std::chrono::steady_clock::now();
  carry_out(machine, now);
  carry_out(machine, now);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begun;
  std::printf(R"({"name":"core_grant","value":%.1f,"unit":"us","leases":%llu})"
              "\n",
              took.count() / static_cast<double>(
                                 std::max<std::uint64_t>(1, machine.counters().leases_granted)),
              static_cast<unsigned long long>(machine.counters().leases_granted));
  return 0;
}
