/// Loads tests/fixtures/go-streams: what real go commands wrote for a case, as run reports.
#pragma once

#include "worker/core/go/judge.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace cupel::worker::recorded {

struct Source {
  std::string package;
  std::vector<std::string> texts;
};

struct Unit {
  JudgeContext context;
  std::vector<CheckRun> runs;
  std::vector<Source> sources;  ///< Test files of packages that must name what did not run.
};

struct Case {
  std::string id;
  nlohmann::json expect;
  std::vector<Unit> units;
};

/// Names of the recordings, without ".json", sorted.
[[nodiscard]] std::vector<std::string> names();
/// Fails the calling test with an exception when the file is not what it should be.
[[nodiscard]] Case load(const std::string& name);

/// A run that ended by itself with that exit code and whole streams.
[[nodiscard]] RunReport whole_report(int exit_code, std::string out, std::string err = {});

}  // namespace cupel::worker::recorded
