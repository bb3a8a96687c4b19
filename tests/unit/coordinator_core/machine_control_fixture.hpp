/// Workers that can be ordered about, and one whose engine fails.
#pragma once

#include "tests/unit/coordinator_core/machine_fixture.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cupel::coordinator {

class MachineControlTest : public MachineTest {
 protected:
  MachineControlTest() {
    step(TrustChanged{{{"k1", "one", {{"zone", "a"}, {"disk", "old"}}},
                       {"k2", "two", {{"zone", "a"}}},
                       {"k3", "three", {{"zone", "b"}}}}});
  }
  void order_zone(WorkerOrder what, const std::string& zone) {
    OrderWorkers event;
    event.request = ++requests_;
    event.order = what;
    event.labels = {{"zone", zone}};
    step(std::move(event));
  }
  /// The worker ends its newest lease with an engine that failed.
  void fail_engine(const std::string& key) {
    TaskResult result = passing(last<Lease>(key));
    result.ending = Ending::interrupted;
    result.reason = Reason::engine;
    from(key, ResultMessage{result});
  }
  /// A worker with one slot, which fails five times.
  void quarantine_by_failures() {
    join("k1", 11);
    submit({git("a"), git("b"), git("c"), git("d"), git("e"), git("f")});
    for (int i = 0; i < 5; ++i) fail_engine("k1");
  }
  void wait(Duration time) {
    for (Duration passed{}; passed < time; passed += 1s) {
      pass(1s);
      heartbeat("k1");
      step(Tick{});
    }
  }
  [[nodiscard]] bool is_probe(const Lease& lease) const {
    return std::holds_alternative<NoOp>(lease.spec.work);
  }
  std::vector<nlohmann::json> events(const std::string& type) const {
    std::vector<nlohmann::json> found;
    for (const auto& event : written<EventAppended>()) {
      if (event.type == type) found.push_back(nlohmann::json::parse(event.body));
    }
    return found;
  }
};

}  // namespace cupel::coordinator
