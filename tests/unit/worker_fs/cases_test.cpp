// The shipped cases, as far as they are decided before a Go command runs: packed as the client
// packs them, written and searched as a worker does.
#include "common/source/pack.hpp"
#include "tests/support/git_fixture.hpp"
#include "tests/support/temp_dir.hpp"
#include "worker/fs/snapshot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <regex>
#include <set>

namespace cupel::worker {
namespace {

namespace stdfs = std::filesystem;
using nlohmann::json;

stdfs::path cases_dir() {
  return stdfs::path(CUPEL_SOURCE_DIR) / "tests" / "fixtures" / "cases";
}

std::vector<std::string> case_ids() {
  std::vector<std::string> ids;
  for (const auto& entry : stdfs::directory_iterator(cases_dir())) {
    if (!stdfs::exists(entry.path() / "expect.json")) continue;
    const json expect = json::parse(tests::read_text(entry.path() / "expect.json"));
    const std::string kind = expect.at("kind");
    if (kind == "acquire" || kind == "validate") ids.push_back(entry.path().filename());
  }
  std::ranges::sort(ids);
  return ids;
}

/// Reasons that are decided without a run; the others are for the go command to find.
bool decided_here(const std::string& id, const std::string& reason) {
  static const std::set<std::string> kReasons = {"none",
                                                 "acquire_incomplete",
                                                 "alternates_outside",
                                                 "bad_go_mod",
                                                 "bad_go_sum",
                                                 "bad_go_work",
                                                 "empty_repository",
                                                 "gitdir_outside",
                                                 "hostile_git_config",
                                                 "malformed_tree",
                                                 "manifest_is_symlink",
                                                 "no_go_mod",
                                                 "path_too_long",
                                                 "replace_outside_repo",
                                                 "snapshot_too_large",
                                                 "submodule_not_fetched",
                                                 "submodule_untrusted_url",
                                                 "unsupported_object_format",
                                                 "work_outside_repo"};
  // Only the toolchain knows godebug keys, who imports a submodule, and what vendor must hold.
  constexpr std::array<std::string_view, 3> kOfTheToolchain = {"091", "142", "231"};
  return kReasons.contains(reason) &&
         std::ranges::none_of(kOfTheToolchain,
                              [&](std::string_view number) { return id.starts_with(number); });
}

struct Answer {
  std::string reason;
  std::vector<Finding> findings;
};

Answer from(const SourceRefusal& refusal) {
  return {std::string(name(refusal.reason)), refusal.findings};
}

/// The whole way from a folder to units.
Answer answer_for(const stdfs::path& repo, const std::string& ref, const stdfs::path& scratch) {
  const auto packed = source::pack_local_path(repo, ref, scratch / "s.pack");
  if (!packed) throw std::runtime_error(packed.error().text());
  if (const auto* refused = std::get_if<SourceRefusal>(&*packed)) return from(*refused);
  stdfs::create_directories(scratch / "index");
  stdfs::create_directories(scratch / "out");
  const auto store = source::ObjectStore::open_pack(scratch / "s.pack", scratch / "index");
  if (!store) throw std::runtime_error(store.error().text());
  const auto commit = std::get<source::PackedSource>(*packed).commit;
  const auto written = write_snapshot(*store, *gitfmt::ObjectId::parse(commit), scratch / "out");
  if (!written) throw std::runtime_error(written.error().text());
  if (const auto* refused = std::get_if<SourceRefusal>(&*written)) return from(*refused);
  const auto& snapshot = std::get<Snapshot>(*written);
  const auto units = discover_units(snapshot.view, {});
  if (const auto* refused = std::get_if<SourceRefusal>(&units)) return from(*refused);
  Answer answer{"none", {}};
  std::vector<std::string> dirs;
  for (const auto& unit : std::get<0>(units)) dirs.push_back(unit.dir);
  for (const auto& unit : std::get<0>(units)) {
    if (unit.reason != Reason::none) answer.reason = name(unit.reason);
    answer.findings.insert(answer.findings.end(), unit.findings.begin(), unit.findings.end());
    for (auto& note : link_notes(snapshot.notes, unit.dir, dirs))
      answer.findings.push_back(std::move(note));
  }
  return answer;
}

class Cases : public testing::TestWithParam<std::string> {};

TEST_P(Cases, AreAnsweredAsTheyExpect) {
  const std::string id = GetParam();
  const stdfs::path folder = cases_dir() / id;
  const json expect = json::parse(tests::read_text(folder / "expect.json"));
  const std::string outcome = expect.at("right_outcome");
  const auto colon = outcome.find(':');
  std::string reason = colon == std::string::npos ? "none" : outcome.substr(colon + 1);
  tests::TempDir scratch;
  if (stdfs::exists(folder / "make.sh")) {
    tests::shell(scratch.path(),
                 "bash '" + (folder / "make.sh").string() + "' \"$FOLDER\" >/dev/null 2>&1");
  } else {
    stdfs::copy(folder / "repo", scratch / "repo",
                stdfs::copy_options::recursive | stdfs::copy_options::copy_symlinks);
  }
  // The script of this one leaves HEAD at a harmless branch; the case is about the other.
  const std::string ref = id.starts_with("163") ? "deep" : "";

  const Answer answer = answer_for(scratch / "repo", ref, scratch.path());

  if (!decided_here(id, reason)) {
    EXPECT_EQ(answer.reason, "none") << "this is for a run to find";
    return;
  }
  EXPECT_EQ(answer.reason, reason);
  if (reason == "none" && expect.at("kind") != "acquire") return;
  for (const json& wanted : expect.at("expected_findings")) {
    const std::regex pattern(wanted.at("message_pattern").get<std::string>());
    EXPECT_TRUE(
        std::ranges::any_of(answer.findings,
                            [&](const Finding& finding) {
                              return name(finding.kind) == wanted.at("kind").get<std::string>() &&
                                     finding.package == wanted.at("package").get<std::string>() &&
                                     std::regex_search(finding.message, pattern);
                            }))
        << wanted.dump() << (answer.findings.empty() ? "" : answer.findings[0].message);
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, Cases, testing::ValuesIn(case_ids()), [](const auto& test) {
  std::string name = test.param;
  std::ranges::replace_if(name, [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
});

}  // namespace
}  // namespace cupel::worker
