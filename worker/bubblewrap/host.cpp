#include "worker/bubblewrap/bubblewrap_runs.hpp"

namespace cupel::worker {

std::string BubblewrapHost::text() const {
  const auto& user = machine.run_as;
  return machine.program + ", " +
         (user ? "user " + std::to_string(user->uid) : std::string("the worker's own user")) +
         ", " + cgroups.text();
}

Result<BubblewrapHost> look_at_host(const std::string& label) {
  auto machine = bubblewrap::look_at_machine();
  if (!machine) return machine.error();
  return BubblewrapHost{*std::move(machine), Cgroups::find(label)};
}

}  // namespace cupel::worker
