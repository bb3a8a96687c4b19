#include "worker/app/readiness.hpp"

#include "common/fs/files.hpp"

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include <systemd/sd-daemon.h>
#include <utility>

namespace cupel::worker {

void Readiness::running() {
  ::sd_notify(0, "READY=1\nSTATUS=waits for its coordinator");
}

void Readiness::stopping() {
  ::sd_notify(0, "STOPPING=1\nSTATUS=drains");
}

void Readiness::takes_tasks(const Facts& facts) {
  if (ready_.exchange(true)) return;
  ::sd_notify(0, "STATUS=takes tasks");
  if (std::exchange(announced_, true)) return;
  if (!ready_file_.empty()) {
    const nlohmann::json ready = {{"worker", facts.worker.text()}, {"metrics", facts.metrics}};
    if (auto written = fs::write_file_durably(ready_file_, ready.dump() + "\n", 0600); !written) {
      spdlog::warn("{}", written.error().text());
    }
  }
  spdlog::info("ready: {} slots", facts.slots);
}

void Readiness::takes_none() {
  if (ready_.exchange(false)) ::sd_notify(0, "STATUS=takes no tasks");
}

}  // namespace cupel::worker
