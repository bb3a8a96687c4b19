/// A project, a home with secrets and a cache root of their own for each test, and the real
/// sandbox.
#pragma once

#include "common/bubblewrap/workspace_run.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cupel::test {

struct Outcome {
  bubblewrap::WorkspaceReport report;
  std::string out;
  std::string err;
};

class WorkspaceTest : public ::testing::Test {
 protected:
  WorkspaceTest();
  ~WorkspaceTest() override;

  using Change = std::function<void(sandbox::WorkspaceRequest&)>;
  /// Runs the command to its end.
  [[nodiscard]] Outcome run(std::vector<std::string> command, const Change& change = {});
  [[nodiscard]] Outcome shell(const std::string& script, const Change& change = {});
  /// A Python program, for what a shell can't do.
  [[nodiscard]] Outcome python(const std::string& program, const Change& change = {});
  [[nodiscard]] sandbox::WorkspaceRequest request() const;

  /// Every path below a folder, relative to it.
  [[nodiscard]] static std::set<std::string> files_of(const std::string& folder);
  static void write(const std::string& path, const std::string& content);

  std::string scratch;
  std::string project;
  std::string home;
  std::map<std::string, std::string> environment;
  int in = -1;  ///< Standard input of the command; -1: /dev/null.
};

}  // namespace cupel::test
