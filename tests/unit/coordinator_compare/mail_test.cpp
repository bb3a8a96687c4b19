#include "coordinator/core/compare/mail.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace cupel::coordinator::compare {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kDiff =
    "diff --git a/go.mod b/go.mod\n--- a/go.mod\n+++ b/go.mod\n@@ -1,3 +1,3 @@\n module m\n \n-go "
    "1.24\n+go 1.26\n";

json unit() {
  return {{"verdict", "compatible"},
          {"repository", "https://example.com/a"},
          {"commit", "abc"},
          {"module", "m"},
          {"dir", "."},
          {"checks", json::array({{{"command", {"go", "test", "./..."}}, {"outcome", "passing"}}})},
          {"comparison",
           {{"before", {{"outcome", "passing"}, {"failed", 0}, {"counted", 1}}},
            {"after",
             {{"outcome", "passing"},
              {"failed", 0},
              {"counted", 1},
              {"conditions", {{"image", "sha256:a"}, {"go_version", "go1.26.1"}}}}},
            {"change",
             {{"moved", json::array({{{"module", "example.com/lib"},
                                      {"from", "v1.0.0"},
                                      {"to", "v1.1.0"},
                                      {"target", true}}})},
              {"go_before", "1.24"},
              {"go_after", "1.26"}}}}}};
}

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {(std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>()};
}

/// A repository with go.mod, in which the mail is applied by the real git.
class GitAm : public ::testing::Test {
 protected:
  GitAm() : dir_(testing::TempDir() + "cupel-am-" + std::to_string(getpid())) {
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_);
  }
  ~GitAm() override { std::filesystem::remove_all(dir_); }

  void start(const std::string& manifest) {
    std::ofstream(dir_ / "go.mod", std::ios::binary) << manifest;
    ASSERT_EQ(git("init -q . && git add -A && git -c user.name=a -c user.email=a@b.c commit -qm 1"),
              0);
  }
  int apply(const std::string& mail) {
    std::ofstream(dir_ / ".git" / "mail", std::ios::binary) << mail;
    return git("-c user.name=a -c user.email=a@b.c am -q .git/mail");
  }
  int git(const std::string& arguments) {
    return std::system(
        ("cd " + dir_.string() + " && git " + arguments + " >/dev/null 2>&1").c_str());
  }

  std::filesystem::path dir_;
};

TEST_F(GitAm, AppliesTheMail) {
  start("module m\n\ngo 1.24\n");

  ASSERT_EQ(
      apply(patch_mail(describe_patch(unit(), {{"change", {{"upgrade", json::object()}}}}, kDiff))),
      0);

  EXPECT_EQ(read(dir_ / "go.mod"), "module m\n\ngo 1.26\n");
}

TEST_F(GitAm, KeepsCarriageReturns) {
  start("module m\r\n\r\ngo 1.24\r\n");
  const std::string diff =
      "diff --git a/go.mod b/go.mod\n--- a/go.mod\n+++ b/go.mod\n@@ -1,3 +1,3 @@\n module m\r\n "
      "\r\n-go 1.24\r\n+go 1.26\r\n";

  ASSERT_EQ(apply(patch_mail({"Raise", {}, diff, {}})), 0);

  EXPECT_EQ(read(dir_ / "go.mod"), "module m\r\n\r\ngo 1.26\r\n");
}

TEST_F(GitAm, AppliesWhateverTheBodySays) {
  start("module m\n\ngo 1.24\n");
  const std::vector<std::string> body = {"---", "diff --git a/x b/x", "From nobody Mon Sep 17",
                                         "Index: y", "--- a/z\n+++ b/z"};

  ASSERT_EQ(apply(patch_mail({"Sub\nject: Evil\r\nBcc: x", body, kDiff, {}})), 0);
  EXPECT_EQ(read(dir_ / "go.mod"), "module m\n\ngo 1.26\n");
}

TEST(PatchMail, IsTheSameBytesForTheSameContent) {
  const json document = {{"change", {{"upgrade", json::object()}}}, {"name", "up"}};
  const std::string mail = patch_mail(describe_patch(unit(), document, kDiff));

  EXPECT_EQ(patch_mail(describe_patch(unit(), document, kDiff)), mail);
  EXPECT_THAT(mail, StartsWith("From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 "
                               "2001\nFrom: Cupel <cupel@localhost>\nDate: Sat, 1 Jan 2000"));
  EXPECT_THAT(mail, HasSubstr("Subject: [PATCH] Upgrade example.com/lib to v1.1.0\n"));
  EXPECT_THAT(mail, HasSubstr("  after:  passing\n"));
  EXPECT_THAT(mail, HasSubstr("Go line: 1.24 -> 1.26\n"));
  EXPECT_THAT(mail, HasSubstr("Image: sha256:a (go1.26.1)\n"));
  EXPECT_THAT(mail, HasSubstr("Check: go test ./... -> passing\n"));
}

TEST(PatchMail, NamesTheAdvisoriesThatItResolves) {
  json one = unit();
  one["comparison"]["scan"] = {
      {"resolved",
       {{{"osv", "GO-2099-0001"}, {"module", "example.com/lib"}, {"found_version", "v1.0.0"}}}}};

  EXPECT_THAT(patch_mail(describe_patch(one, json::object(), kDiff)),
              HasSubstr("\nResolves: GO-2099-0001 in example.com/lib v1.0.0\n"));
  one["comparison"]["scan"] = nullptr;
  EXPECT_EQ(patch_mail(describe_patch(one, json::object(), kDiff)),
            patch_mail(describe_patch(unit(), json::object(), kDiff)));
}

TEST(PatchMail, IsTheSameHoweverOftenASideWasRun) {
  json sampled = unit();
  sampled["comparison"]["before"] = {{"outcome", "passing"}, {"failed", 1}, {"counted", 5}};
  json once = unit();
  once["comparison"]["before"] = {{"outcome", "passing"}, {"failed", 0}, {"counted", 1}};

  EXPECT_EQ(patch_mail(describe_patch(sampled, json::object(), kDiff)),
            patch_mail(describe_patch(once, json::object(), kDiff)));
}

TEST(PatchMail, HasTheTimeOfTheCommitThatItAppliesTo) {
  json one = unit();
  one["committed"] = "2005-04-07T22:13:13Z";

  EXPECT_THAT(patch_mail(describe_patch(one, json::object(), kDiff)),
              HasSubstr("\nDate: Thu, 7 Apr 2005 22:13:13 +0000\n"));
  EXPECT_THAT(patch_mail({"Raise", {}, kDiff, {1'709'210'096'999'999}}),
              HasSubstr("\nDate: Thu, 29 Feb 2024 12:34:56 +0000\n"));
}

TEST_F(GitAm, TheCommitHasTheTimeOfTheOneBelow) {
  start("module m\n\ngo 1.24\n");
  json one = unit();
  one["committed"] = "2005-04-07T22:13:13Z";

  ASSERT_EQ(apply(patch_mail(describe_patch(one, json::object(), kDiff))), 0);

  EXPECT_EQ(git("show -s --format=%at HEAD | grep -qx 1112911993"), 0);
}

TEST(PatchMail, NamesTheKindOfChangeInItsSubject) {
  const auto subject = [](json change, json facts) {
    json one = unit();
    one["comparison"]["change"] = std::move(facts);
    return describe_patch(one, {{"change", std::move(change)}, {"name", "mine"}}, "").subject;
  };

  EXPECT_EQ(subject({{"go", json::object()}}, {{"go_after", "1.26"}}), "Raise the go line to 1.26");
  EXPECT_EQ(subject({{"replace", json::array({{{"module", "a.b/c"}}})}}, json::object()),
            "Replace a.b/c");
  EXPECT_EQ(subject({{"patch", json::object()}}, json::object()), "Apply mine");
}

TEST(PatchFileName, HoldsNothingThatLeavesItsFolder) {
  EXPECT_EQ(patch_file_name(7, "https://example.com/a/b.git", "sub/x"),
            "0007-example.com-a-b.git-sub-x.patch");
  EXPECT_EQ(patch_file_name(12345, "../../etc/passwd", "."), "12345-etc-passwd.patch");
  EXPECT_EQ(patch_file_name(1, "\x01\xFF//", ""), "0001-unit.patch");
}

}  // namespace
}  // namespace cupel::coordinator::compare
