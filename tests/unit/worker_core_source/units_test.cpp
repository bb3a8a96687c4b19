#include "worker/core/source/units.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::worker {
namespace {

using gitfmt::kModeFile;
using gitfmt::kModeLink;
using testing::ElementsAre;
using testing::HasSubstr;

/// A tree written down as path and content.
class Tree {
 public:
  Tree& file(const std::string& path, const std::string& content = "x") {
    view_.entries.push_back({path, kModeFile, {}, content.size()});
    if (wants_content(path)) view_.manifests.emplace(path, content);
    return *this;
  }
  Tree& link(const std::string& path, const std::string& target) {
    view_.entries.push_back({path, kModeLink, {}, target.size()});
    view_.links.emplace(path, target);
    return *this;
  }
  Tree& submodule(const std::string& path) {
    view_.entries.push_back({path, gitfmt::kModeSubmodule, {}, 0});
    return *this;
  }
  Tree& sized(const std::string& path, std::uint64_t bytes) {
    view_.entries.push_back({path, kModeFile, {}, bytes});
    return *this;
  }
  Tree& module(const std::string& dir, const std::string& more = "") {
    return file(dir == "." ? "go.mod" : dir + "/go.mod",
                "module ex.test/" + dir + "\n\ngo 1.24\n" + more);
  }

  std::vector<UnitInfo> units(const std::vector<std::string>& subdirs = {}) const {
    auto found = discover_units(view_, subdirs);
    if (auto* refused = std::get_if<SourceRefusal>(&found)) {
      ADD_FAILURE() << refused->message;
      return {};
    }
    return std::get<std::vector<UnitInfo>>(found);
  }
  SourceRefusal refusal(const std::vector<std::string>& subdirs = {}) const {
    auto found = discover_units(view_, subdirs);
    if (auto* refused = std::get_if<SourceRefusal>(&found)) return *refused;
    ADD_FAILURE() << "units were found";
    return {};
  }

 private:
  SourceView view_;
};

std::vector<std::string> dirs(const std::vector<UnitInfo>& units) {
  std::vector<std::string> all;
  for (const auto& unit : units) all.push_back(unit.dir);
  return all;
}

TEST(Units, EveryGoModIsAUnit) {
  Tree tree;
  tree.module(".").module("sub").module("a/b");
  const auto units = tree.units();
  EXPECT_THAT(dirs(units), ElementsAre(".", "a/b", "sub"));
  EXPECT_EQ(units[2].module_path, "ex.test/sub");
  EXPECT_EQ(units[2].go_version, "1.24");
  EXPECT_TRUE(units[2].workspace.empty());
}

TEST(Units, ModulesThatTheGoCommandIgnoresAreNone) {
  Tree tree;
  tree.module(".")
      .module("testdata/x")
      .module("a/testdata")
      .module("vendor/ex.test/x")
      .module(".hidden/x")
      .module("_old")
      .module("nottestdata");
  EXPECT_THAT(dirs(tree.units()), ElementsAre(".", "nottestdata"));
}

TEST(Units, ATreeWithoutAModuleIsRefusedWithWhatGoWouldSay) {
  Tree tree;
  tree.file("main.go").file("testdata/go.mod", "module x\n");
  const auto why = tree.refusal();
  EXPECT_EQ(why.reason, Reason::no_go_mod);
  ASSERT_EQ(why.findings.size(), 2U);
  EXPECT_EQ(why.findings[0].kind, FindingKind::manifest_error);
  EXPECT_THAT(why.findings[0].message, HasSubstr("go.mod file not found"));
  EXPECT_EQ(why.findings[1].package, "./...");
  EXPECT_THAT(why.findings[1].message, HasSubstr("does not contain main module"));
}

TEST(Units, SubdirsSelect) {
  Tree tree;
  tree.module(".").module("a").module("a/b").module("ab");
  EXPECT_THAT(dirs(tree.units({"a"})), ElementsAre("a", "a/b"));
  EXPECT_THAT(dirs(tree.units({"./a/b/"})), ElementsAre("a/b"));
  EXPECT_THAT(dirs(tree.units({".", "ab"})).size(), 4U);
  EXPECT_EQ(tree.refusal({"a", "nowhere"}).reason, Reason::no_go_mod);
}

TEST(Units, AManifestThatIsALinkRefusesItsUnitOnly) {
  Tree tree;
  tree.link("go.mod", "../../etc/hostname")
      .module("ok")
      .module("sum")
      .link("sum/go.sum", "/etc/passwd");
  const auto units = tree.units();
  ASSERT_EQ(units.size(), 3U);
  EXPECT_EQ(units[0].reason, Reason::manifest_is_symlink);
  EXPECT_EQ(units[0].outcome, Outcome::refused);
  EXPECT_THAT(units[0].findings.at(0).message, HasSubstr("manifest_is_symlink"));
  EXPECT_EQ(units[1].outcome, Outcome::passing);
  EXPECT_EQ(units[2].reason, Reason::manifest_is_symlink);
}

TEST(Units, AnUnreadableGoModRefusesWithTheFirstFault) {
  Tree tree;
  tree.file("go.mod", "module m\n\n<<<<<<< HEAD\n=======\n");
  const auto units = tree.units();
  ASSERT_EQ(units.at(0).findings.size(), 1U);
  EXPECT_EQ(units[0].reason, Reason::bad_go_mod);
  EXPECT_EQ(units[0].findings[0].message, "go.mod:3: unknown directive: <<<<<<<");
  EXPECT_EQ(units[0].findings[0].line, 3);
  EXPECT_EQ(Tree().file("go.mod", "go 1.24\n").units().at(0).reason, Reason::bad_go_mod);
  EXPECT_EQ(Tree().file("go.mod", "").units().at(0).reason, Reason::bad_go_mod);
}

TEST(Units, ReplacementsMustStayInTheRepository) {
  const auto reason = [](const std::string& target, const std::string& dir) {
    Tree tree;
    tree.module(dir, "replace ex.test/x => " + target + "\n")
        .link("out", "/srv")
        .link("in", "libs");
    return tree.units().at(0).reason;
  };
  EXPECT_EQ(reason("../x", "."), Reason::replace_outside_repo);
  EXPECT_EQ(reason("../x", "a"), Reason::none);
  EXPECT_EQ(reason("../../x", "a"), Reason::replace_outside_repo);
  EXPECT_EQ(reason("/srv/x", "a"), Reason::replace_outside_repo);
  EXPECT_EQ(reason("./libs/x", "."), Reason::none);
  EXPECT_EQ(reason("./out/x", "."), Reason::replace_outside_repo) << "by way of a link";
  EXPECT_EQ(reason("./in/x", "."), Reason::none);
  EXPECT_EQ(reason("../a/../../x", "a"), Reason::replace_outside_repo);
  EXPECT_EQ(reason("ex.test/y v1.0.0", "."), Reason::none);
}

TEST(Units, AReplacementOutsideIsNamedAsGoNamesIt) {
  Tree tree;
  tree.module(".", "replace ex.test/x => ../x\n");
  EXPECT_THAT(tree.units().at(0).findings.at(0).message,
              HasSubstr("replacement directory ../x does not exist"));
}

TEST(Units, VendoredUnitsReadNoReplacement) {
  Tree tree;
  tree.module(".", "replace ex.test/x => ../x\n").file("vendor/modules.txt");
  const auto units = tree.units();
  EXPECT_TRUE(units.at(0).vendored);
  EXPECT_EQ(units[0].outcome, Outcome::passing);
}

// As go does it: a vendor folder counts whatever is in it, from go 1.14 on.
TEST(Units, AVendorFolderCountsWithoutItsListButNotForOldGoLines) {
  const auto vendored = [](const std::string& go_line, const std::string& file) {
    Tree tree;
    tree.file("go.mod", "module ex.test/m\n" + go_line).file(file);
    return tree.units().at(0).vendored;
  };
  EXPECT_TRUE(vendored("go 1.14\n", "vendor/ex.test/x/x.go"));
  EXPECT_TRUE(vendored("go 1.24.1\n", "vendor/js/x.js"));
  EXPECT_FALSE(vendored("go 1.13\n", "vendor/modules.txt"));
  EXPECT_FALSE(vendored("go 1.9\n", "vendor/modules.txt"));
  EXPECT_FALSE(vendored("", "vendor/modules.txt"));
  EXPECT_FALSE(vendored("go 1.24\n", "vendor"));
  EXPECT_FALSE(vendored("go 1.24\n", "vendored/x.go"));
}

TEST(Units, WhatASubmoduleHoldsIsNotHere) {
  Tree tree;
  tree.module(".", "require ex.test/third v1.0.0\nreplace ex.test/third => ./third/go\n")
      .module("unused", "replace ex.test/third => ../third\n")
      .submodule("third");
  const auto units = tree.units();
  EXPECT_EQ(units.at(0).reason, Reason::submodule_not_fetched);
  EXPECT_EQ(units[0].outcome, Outcome::inconclusive);
  EXPECT_EQ(units[0].findings.at(0).message,
            "go.mod:5: ./third/go lies in the submodule third, which isn't fetched");
  EXPECT_EQ(units[1].outcome, Outcome::passing) << "nothing requires it";
}

TEST(Units, AVendorFolderMayBeASubmodule) {
  const auto reason = [](const std::string& lines) {
    Tree tree;
    tree.file("go.mod", "module ex.test/m\n" + lines).submodule("vendor");
    return tree.units().at(0).reason;
  };
  EXPECT_EQ(reason("go 1.24\nrequire ex.test/x v1.0.0\n"), Reason::submodule_not_fetched);
  EXPECT_EQ(reason("go 1.24\n"), Reason::none) << "it needs nothing";
  EXPECT_EQ(reason("go 1.13\nrequire ex.test/x v1.0.0\n"), Reason::none);
}

TEST(Units, AWorkspaceWithASubmoduleIsNotWhole) {
  Tree tree;
  tree.file("go.work", "go 1.24\nuse (\n\t.\n\t./third\n)\n").module(".").submodule("third");
  EXPECT_EQ(tree.units().at(0).reason, Reason::submodule_not_fetched);
}

TEST(Units, ASumFileThatNobodyCanReadIsRefused) {
  Tree folder;
  EXPECT_EQ(folder.module(".").file("go.sum/x").units().at(0).reason, Reason::bad_go_sum);
  Tree gitlink;
  EXPECT_EQ(gitlink.module(".").submodule("go.sum").units().at(0).reason, Reason::bad_go_sum);
  Tree huge;
  EXPECT_EQ(huge.module(".").sized("go.sum", 9U << 20).units().at(0).reason, Reason::bad_go_sum);
  Tree work;
  work.file("go.work", "go 1.24\nuse ./a\n").module("a").file("go.work.sum/x");
  EXPECT_EQ(work.units().at(0).reason, Reason::bad_go_sum);
  Tree fine;
  EXPECT_EQ(fine.module(".").file("go.sum").file("go.sums/x").units().at(0).outcome,
            Outcome::passing);
}

TEST(Units, AWorkspaceCountsForTheModulesThatItLists) {
  Tree tree;
  tree.file("go.work", "go 1.24\nuse (\n\t./a\n\tb\n)\n").module("a").module("b").module("c");
  const auto units = tree.units();
  EXPECT_EQ(units.at(0).workspace, "go.work");
  EXPECT_EQ(units[1].workspace, "go.work");
  EXPECT_EQ(units[2].workspace, "");
}

TEST(Units, TheNearestWorkspaceCounts) {
  Tree tree;
  tree.file("go.work", "go 1.24\nuse ./x/a\n")
      .file("x/go.work", "go 1.24\nuse ./a\n")
      .module("x/a");
  EXPECT_EQ(tree.units().at(0).workspace, "x/go.work");
}

TEST(Units, InAWorkspaceOnlyTheVendorFolderBesideItCounts) {
  Tree tree;
  tree.file("go.work", "go 1.24\nuse ./a\n")
      .module("a")
      .file("a/vendor/modules.txt")
      .module("b")
      .file("b/vendor/modules.txt");
  const auto units = tree.units();
  EXPECT_FALSE(units.at(0).vendored);
  EXPECT_TRUE(units[1].vendored);
  tree.file("vendor/modules.txt");
  EXPECT_TRUE(tree.units().at(0).vendored);
}

TEST(Units, AWorkspaceThatLeavesTheRepositoryRefusesItsMembers) {
  Tree tree;
  tree.file("go.work", "go 1.24\nuse (\n\t.\n\t../other\n)\n").module(".").module("free");
  const auto units = tree.units();
  EXPECT_EQ(units.at(0).reason, Reason::work_outside_repo);
  EXPECT_THAT(units[0].findings.at(0).message,
              HasSubstr("cannot load module ../other listed in go.work"));
  EXPECT_EQ(units[1].outcome, Outcome::passing) << "not listed: GOWORK=off";
}

TEST(Units, ABrokenWorkspaceRefusesEverythingBelowIt) {
  Tree tree;
  tree.file("x/go.work", "nonsense\n").module("x/a").module("y");
  const auto units = tree.units();
  EXPECT_EQ(units.at(0).reason, Reason::bad_go_work);
  EXPECT_EQ(units[1].outcome, Outcome::passing);
  EXPECT_EQ(Tree().link("go.work", "/x").module(".").units().at(0).reason,
            Reason::manifest_is_symlink);
}

TEST(Units, AtMostTwoHundred) {
  Tree tree;
  for (int i = 0; i < 200; ++i) tree.module("m" + std::to_string(i));
  EXPECT_EQ(tree.units().size(), 200U);
  tree.module("more");
  EXPECT_EQ(tree.refusal().reason, Reason::snapshot_too_large);
  EXPECT_EQ(tree.units({"more"}).size(), 1U);
}

TEST(Units, PathsAreJoinedBelowTheRoot) {
  EXPECT_EQ(join_beneath(".", "./a/../b"), "b");
  EXPECT_EQ(join_beneath("a/b", ".."), "a");
  EXPECT_EQ(join_beneath("a", ".."), ".");
  EXPECT_EQ(join_beneath("a", "../.."), std::nullopt);
  EXPECT_EQ(join_beneath("a", "../../a"), std::nullopt);
}

}  // namespace
}  // namespace cupel::worker
