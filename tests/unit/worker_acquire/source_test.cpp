#include "common/source/pack.hpp"
#include "tests/unit/worker_acquire/scripted_runs.hpp"
#include "worker/fs/snapshot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <archive.h>
#include <archive_entry.h>

namespace cupel::worker {
namespace {

namespace stdfs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using tests::read_text;
using tests::write_text;

class SourceTest : public testing::Test {
 protected:
  SourceFacts facts(AcquireSource work = {}, const std::string& bundle = {}) {
    auto answer = fixture_.source(std::move(work), bundle);
    if (auto* acquired = std::get_if<SourceAcquired>(&answer)) return std::move(acquired->facts);
    ADD_FAILURE() << std::get<AcquireStopped>(answer).message;
    return {};
  }
  AcquireStopped stopped(AcquireSource work = {}, const std::string& bundle = {}) {
    auto answer = fixture_.source(std::move(work), bundle);
    if (auto* why = std::get_if<AcquireStopped>(&answer)) return std::move(*why);
    ADD_FAILURE() << "acquired";
    return {};
  }
  std::string snapshot(const SourceFacts& facts) {
    const auto found = fixture_.workspaces().find_source(RepositoryId{2}, facts.commit);
    return found ? found->snapshot : std::string();
  }

  AcquireFixture fixture_;
};

TEST_F(SourceTest, AGitRepositoryBecomesASnapshotWithUnits) {
  tests::make_repository(fixture_.repo(),
                         "mkdir sub; printf 'module ex.test/r/sub\\n\\ngo 1.21\\n' > sub/go.mod");
  const auto got = facts();
  EXPECT_EQ(got.commit, tests::shell_output(fixture_.repo(), "git rev-parse HEAD"));
  EXPECT_EQ(std::to_string(got.committed.us / 1'000'000),
            tests::shell_output(fixture_.repo(), "git log -1 --format=%ct"));
  EXPECT_EQ(got.files, 3U);
  ASSERT_EQ(got.units.size(), 2U);
  EXPECT_EQ(got.units[1].dir, "sub");
  EXPECT_EQ(got.tree, *tree_digest(snapshot(got)));
  EXPECT_THAT(fixture_.left_behind(), ElementsAre("source"));
  EXPECT_THAT(fixture_.runs.requests, IsEmpty()) << "no container for what git can do";
}

TEST_F(SourceTest, SubdirsAndPinsSelect) {
  tests::make_repository(fixture_.repo(),
                         "mkdir sub; printf 'module ex.test/r/sub\\n' > sub/go.mod");
  const std::string first = tests::shell_output(fixture_.repo(), "git rev-parse HEAD");
  tests::shell(fixture_.repo(), "git commit -q --allow-empty -m c2");
  AcquireSource work;
  work.subdirs = {"sub"};
  work.pinned_commit = first;
  const auto got = facts(work);
  EXPECT_EQ(got.commit, first);
  EXPECT_EQ(got.units.size(), 1U);
}

TEST_F(SourceTest, LinksThatLeaveAreRemarksOfTheirUnit) {
  tests::make_repository(fixture_.repo(), "ln -s /etc/passwd ok/pw");
  const auto got = facts();
  ASSERT_EQ(got.units.at(0).findings.size(), 1U);
  EXPECT_EQ(got.units[0].outcome, Outcome::passing);
  EXPECT_THAT(got.units[0].findings[0].message, HasSubstr("symlink_escapes_tree"));
}

TEST_F(SourceTest, RefusalsLeaveNothingBehind) {
  tests::make_repository(fixture_.repo(), "rm go.mod");
  EXPECT_EQ(stopped().refusal.reason, Reason::no_go_mod);
  tests::shell(fixture_.repo(), "touch README readme; git add -A; git commit -q -m case");
  EXPECT_EQ(stopped().refusal.reason, Reason::malformed_tree);
  AcquireSource elsewhere;
  elsewhere.source = GitSource{"file:///nonexistent/x", ""};
  EXPECT_EQ(stopped(elsewhere).refusal.reason, Reason::repository_not_found);
  EXPECT_THAT(fixture_.left_behind(), IsEmpty());
}

TEST_F(SourceTest, APackedFolderBecomesASnapshot) {
  write_text(fixture_.dir() / "plain" / "go.mod", "module ex.test/p\n");
  const auto packed =
      source::pack_local_path(fixture_.dir() / "plain", "", fixture_.dir() / "p.pack");
  ASSERT_TRUE(packed.has_value());
  const auto& pack = std::get<source::PackedSource>(*packed);
  AcquireSource work;
  work.source = BundleSource{pack.digest, pack.commit, "plain"};
  const auto got = facts(work, (fixture_.dir() / "p.pack").string());
  EXPECT_EQ(got.commit, pack.commit);
  EXPECT_EQ(got.units.at(0).module_path, "ex.test/p");
  EXPECT_THAT(fixture_.left_behind(), ElementsAre("source"));
}

TEST_F(SourceTest, APackThatIsNoneIsRefused) {
  write_text(fixture_.dir() / "p.pack", "PACK but not really");
  AcquireSource work;
  work.source = BundleSource{{}, std::string(40, '1'), "x"};
  EXPECT_EQ(stopped(work, (fixture_.dir() / "p.pack").string()).refusal.reason,
            Reason::malformed_tree);
  EXPECT_THAT(fixture_.left_behind(), IsEmpty());
}

/// Does what `go mod download -json` does in a container.
RunReport download(const RunRequest& request, const std::string& version,
                   const std::string& file = "a.go") {
  const std::string base = "/cache/download/ex.test/!m/@v/" + version;
  const std::string zip = request.mounts.modcache + base + ".zip";
  write_text(request.mounts.modcache + base + ".mod", "module ex.test/M\n");
  archive* out = archive_write_new();
  archive_write_set_format_zip(out);
  archive_write_open_filename(out, zip.c_str());
  archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, ("ex.test/M@" + version + "/" + file).c_str());
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_entry_set_size(entry, 10);
  archive_write_header(out, entry);
  archive_write_data(out, "package a\n", 10);
  archive_entry_free(entry);
  archive_write_close(out);
  archive_write_free(out);
  return ended(0, "{\"Path\": \"ex.test/M\", \"Version\": \"" + version +
                      "\", \"Zip\": \"/modcache" + base + ".zip\", \"GoMod\": \"/modcache" + base +
                      ".mod\", \"Sum\": \"h1:abc=\"}");
}

TEST_F(SourceTest, AModuleIsDownloadedByGoAndUnpacked) {
  fixture_.runs.script = [](const RunRequest& request) { return download(request, "v1.2.0"); };
  AcquireSource work;
  work.source = ModuleSource{"ex.test/M", "latest"};
  const auto got = facts(work);
  EXPECT_EQ(got.commit, "sum:h1:abc=");
  EXPECT_EQ(got.units.at(0).module_path, "ex.test/M");
  EXPECT_EQ(read_text(snapshot(got) + "/a.go"), "package a\n");
  EXPECT_EQ(read_text(snapshot(got) + "/go.mod"), "module ex.test/M\n")
      << "the one that go made up";
  EXPECT_THAT(command_line(fixture_.runs.requests.at(0)), HasSubstr("mod download"));
  EXPECT_THAT(command_line(fixture_.runs.requests.at(0)), HasSubstr("ex.test/M@latest"));
  EXPECT_THAT(fixture_.left_behind(), ElementsAre("source"));
}

TEST_F(SourceTest, AModulesZipIsHandedOverForTheDownloadCache) {
  fixture_.runs.script = [](const RunRequest& request) { return download(request, "v1.2.0"); };
  fixture_.downloads = "/downloads-of-the-worker";
  std::string modcache;
  std::shared_ptr<void> kept;
  fixture_.share = [&](const std::string& given, std::shared_ptr<void> keep) {
    modcache = given;
    kept = std::move(keep);
  };
  AcquireSource work;
  work.source = ModuleSource{"ex.test/M", "v1.2.0"};

  (void)facts(work);

  EXPECT_EQ(modcache, fixture_.runs.requests.at(0).mounts.modcache);
  EXPECT_TRUE(stdfs::exists(modcache + "/cache/download/ex.test/!m/@v/v1.2.0.zip"));
  kept.reset();
  EXPECT_FALSE(stdfs::exists(modcache)) << "whoever looked at it last removes it";
  EXPECT_THAT(fixture_.left_behind(), ElementsAre("source"));
}

TEST_F(SourceTest, AModuleThatFailedIsHandedOverToNobody) {
  fixture_.runs.script = [](const RunRequest& request) { return download(request, "v1.2.0"); };
  fixture_.downloads = "/downloads-of-the-worker";
  bool handed = false;
  fixture_.share = [&](const std::string&, const std::shared_ptr<void>&) { handed = true; };
  AcquireSource work;
  work.source = ModuleSource{"ex.test/M", "v1.2.0"};
  work.pinned_commit = "sum:h1:another=";

  EXPECT_EQ(stopped(work).refusal.reason, Reason::checksum_mismatch);

  EXPECT_FALSE(handed);
  EXPECT_THAT(fixture_.left_behind(), IsEmpty());
}

TEST_F(SourceTest, AModulesZipIsNotVendoredThoughItHoldsTheList) {
  fixture_.runs.script = [](const RunRequest& request) {
    return download(request, "v1.2.0", "vendor/modules.txt");
  };
  AcquireSource work;
  work.source = ModuleSource{"ex.test/M", "v1.2.0"};

  const auto got = facts(work);

  EXPECT_EQ(read_text(snapshot(got) + "/vendor/modules.txt"), "package a\n");
  EXPECT_FALSE(got.units.at(0).vendored);
}

TEST_F(SourceTest, AnotherSumThanThePinnedOneIsAMismatch) {
  fixture_.runs.script = [](const RunRequest& request) { return download(request, "v1.2.0"); };
  AcquireSource work;
  work.source = ModuleSource{"ex.test/M", "v1.2.0"};
  work.pinned_commit = "sum:h1:other=";
  EXPECT_EQ(stopped(work).refusal.reason, Reason::checksum_mismatch);
  work.pinned_commit = "sum:h1:abc=";
  EXPECT_EQ(facts(work).commit, "sum:h1:abc=");
}

TEST_F(SourceTest, ModulesThatAreNoneAreSaid) {
  AcquireSource work;
  for (const auto& [path, version] :
       {std::pair{"-x", "v1.0.0"}, std::pair{"ex.test/m", ""}, std::pair{"ex.test/m x", "v1"},
        std::pair{"ex.test/m", "v1@v2"}}) {
    work.source = ModuleSource{path, version};
    EXPECT_EQ(stopped(work).refusal.reason, Reason::bad_version_query) << path;
  }
  EXPECT_THAT(fixture_.runs.requests, IsEmpty());
  fixture_.runs.script = [](const RunRequest&) {
    return ended(1,
                 "{\"Path\": \"ex.test/m\", \"Error\": \"ex.test/m@v1.0.0: reading https://p/x: "
                 "410 Gone\"}");
  };
  work.source = ModuleSource{"ex.test/m", "v1.0.0"};
  const auto why = stopped(work);
  EXPECT_EQ(why.refusal.reason, Reason::module_not_found);
  EXPECT_EQ(why.refusal.findings.at(0).package, "ex.test/m@v1.0.0");
  EXPECT_THAT(fixture_.left_behind(), IsEmpty());
}

TEST_F(SourceTest, PathsThatLeaveTheModuleCacheAreNotOpened) {
  fixture_.runs.script = [](const RunRequest&) {
    return ended(0,
                 "{\"Path\": \"ex.test/m\", \"Version\": \"v1.0.0\", \"Sum\": \"h1:x\","
                 " \"Zip\": \"/modcache/../../../etc/passwd\", \"GoMod\": \"/etc/passwd\"}");
  };
  AcquireSource work;
  work.source = ModuleSource{"ex.test/m", "v1.0.0"};
  EXPECT_EQ(stopped(work).refusal.reason, Reason::acquire_incomplete);
}

}  // namespace
}  // namespace cupel::worker
