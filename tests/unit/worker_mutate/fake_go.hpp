/// A go command that edits staged manifests as the real one would, for as much of it as a test
/// needs: every module of a small proxy, `get`, `tidy`, `graph`, `list -m`.
#pragma once

#include "tests/support/git_fixture.hpp"
#include "tests/unit/worker_acquire/scripted_runs.hpp"
#include "worker/core/source/gomod.hpp"
#include "worker/mutate/mutate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace cupel::worker {

class FakeGo {
 public:
  std::map<std::string, std::vector<std::string>> proxy;  ///< Module to its versions.
  std::string published = "2020-01-01T00:00:00Z";
  /// What a test changes: called instead, when it answers.
  std::function<std::optional<RunReport>(const RunRequest&, const std::string& verb)> before;

  RunReport operator()(const RunRequest& request) {
    std::vector<std::string> words(request.command.begin() + 1, request.command.end());
    root_ = request.mounts.staging;
    if (words.size() > 1 && words[0] == "-C") {
      root_ += words[1].substr(std::string("/staging").size());
      words.erase(words.begin(), words.begin() + 2);
    }
    std::erase_if(words, [](const auto& word) { return word.starts_with("-modfile="); });
    const std::string verb =
        words[0] + (words[0] == "mod" || words[1] == "-m" || words[1] == "-e" ? ' ' + words[1]
                                                                              : std::string());
    if (before) {
      if (auto answer = before(request, verb)) return *std::move(answer);
    }
    if (verb == "list -m") return ended(0, build_list());
    if (verb == "list -e") return ended(0, versions(words));
    if (verb == "get") return get({words.begin() + 1, words.end()});
    if (verb == "mod graph") return ended(0, "m go@1.24\n");
    return ended(0);
  }

  [[nodiscard]] std::string go_mod() const { return tests::read_text(root_ + "/go.mod"); }
  void write_go_mod(const std::string& text) const {
    std::filesystem::remove(root_ + "/go.mod");
    tests::write_text(root_ + "/go.mod", text);
  }

 private:
  [[nodiscard]] std::string build_list() const {
    const ModFile mod = parse_go_mod(go_mod());
    std::string out = R"({"Path": ")" + mod.module_path + R"(", "Main": true})";
    for (const auto& one : mod.requirements) {
      out += R"({"Path": ")" + one.path + R"(", "Version": ")" + one.version + '"';
      if (one.indirect) out += R"(, "Indirect": true)";
      for (const auto& replacement : mod.replacements) {
        if (replacement.path != one.path) continue;
        out += R"(, "Replace": {"Path": ")" + replacement.target + R"("})";
      }
      out += '}';
    }
    return out;
  }

  [[nodiscard]] std::string versions(const std::vector<std::string>& words) const {
    std::string out;
    for (const auto& word : words) {
      if (word.starts_with('-') || word == "list") continue;
      const auto at = word.find('@');
      const std::string module = word.substr(0, at);
      out += R"({"Path": ")" + module + '"';
      if (at != std::string::npos) {
        out += R"(, "Version": ")" + word.substr(at + 1) + R"(", "Time": ")" + published + '"';
      } else if (const auto found = proxy.find(module); found != proxy.end()) {
        out += R"(, "Versions": [)";
        for (const auto& version : found->second) {
          out += (out.ends_with('[') ? "\"" : ", \"") + version + '"';
        }
        out += ']';
      } else {
        out += R"(, "Error": {"Err": "module )" + module + R"(: 404 Not Found"})";
      }
      out += '}';
    }
    return out;
  }

  [[nodiscard]] RunReport get(const std::vector<std::string>& targets) const {
    std::string text = go_mod();
    for (const auto& target : targets) {
      const auto at = target.find('@');
      const std::string start = target.substr(0, at) + " v";
      const auto line = text.find(start);
      if (line == std::string::npos) return ended(1, {}, "go: " + target + ": 404 Not Found\n");
      const auto from = line + start.size() - 1;
      text.replace(from, text.find_first_of(" \n", from) - from, target.substr(at + 1));
    }
    write_go_mod(text);
    return ended(0);
  }

  std::string root_;
};

/// A repository whose root requires ex.test/a v1.0.0 and ex.test/b v1.0.0.
class MutateTest : public testing::Test {
 protected:
  static constexpr const char* kGoMod =
      "module ex.test/r\n\ngo 1.24\n\nrequire (\n\tex.test/a v1.0.0\n\tex.test/b v1.0.0\n)\n";

  void acquire(const std::string& more = ":") {
    tests::make_repository(
        fixture_.repo(), more + "; test -e go.work || cat > go.mod <<'END'\n" + kGoMod + "END\n:");
    auto acquired = fixture_.source();
    if (auto* stopped = std::get_if<AcquireStopped>(&acquired)) FAIL() << stopped->message;
    facts_ = std::get<SourceAcquired>(acquired).facts;
    unit_ = facts_.units.at(0);
    fixture_.runs.script = [this](const RunRequest& request) { return go_(request); };
    fixture_.runs.requests.clear();
  }

  std::variant<Mutated, AcquireStopped> mutate(Change change, std::uint16_t variant = 0,
                                               std::vector<ModuleTarget> resolved = {}) {
    Mutate work;
    work.commit = facts_.commit;
    work.unit = unit_;
    work.change = std::move(change);
    work.variant = variant;
    work.resolved = std::move(resolved);
    return fixture_.wait(worker::mutate(fixture_.context(), std::move(work), {}, fixture_.cancel));
  }
  Mutated mutated(Change change, std::uint16_t variant = 0) {
    auto answer = mutate(std::move(change), variant);
    if (auto* done = std::get_if<Mutated>(&answer)) return std::move(*done);
    ADD_FAILURE() << std::get<AcquireStopped>(answer).message;
    return {};
  }
  AcquireStopped stopped(Change change) {
    auto answer = mutate(std::move(change));
    if (auto* why = std::get_if<AcquireStopped>(&answer)) return std::move(*why);
    ADD_FAILURE() << "changed";
    return {};
  }
  static Change upgrade(const std::string& module, const std::string& version) {
    Upgrade rules;
    rules.modules = {{module, version}};
    return rules;
  }
  UnitWorkspace after(std::uint16_t variant = 0) {
    return fixture_.workspaces()
        .find_unit(RepositoryId{2}, facts_.commit, UnitId{3}, slot_of(Side::after, variant))
        .value_or(UnitWorkspace{});
  }
  std::vector<std::string> commands() {
    std::vector<std::string> lines;
    for (const auto& request : fixture_.runs.requests) lines.push_back(command_line(request));
    return lines;
  }
  static std::vector<std::string> words_of(const std::vector<Finding>& findings) {
    std::vector<std::string> words;
    for (const auto& one : findings) words.push_back(one.message);
    return words;
  }

  AcquireFixture fixture_;
  FakeGo go_;
  SourceFacts facts_;
  UnitInfo unit_;
};

}  // namespace cupel::worker
