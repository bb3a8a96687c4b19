#include "worker/git/fetch.hpp"

#include "common/source/object_store.hpp"
#include "tests/support/git_fixture.hpp"
#include "tests/support/http_git_server.hpp"
#include "tests/support/temp_dir.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_future.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

namespace cupel::worker {
namespace {

namespace asio = boost::asio;
namespace stdfs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using tests::make_repository;
using tests::shell;
using tests::shell_output;

class FetchGit : public testing::Test {
 protected:
  void SetUp() override { policy_.allow_local = true; }
  [[nodiscard]] stdfs::path repo() const { return dir_ / "repo"; }
  [[nodiscard]] std::string url() const { return "file://" + repo().string(); }

  Result<FetchAnswer> run(const std::string& url, const std::string& ref = "",
                          const std::string& pinned = "") {
    asio::io_context loop;
    FetchRequest request{url, ref, pinned, dir_ / ("into-" + fs::random_hex(4))};
    last_ = request.into;
    auto done = asio::co_spawn(
        loop, fetch_git(request, std::make_shared<GitPolicy>(policy_), cancel_), asio::use_future);
    loop.run();
    return done.get();
  }
  Fetched fetched(const std::string& url, const std::string& ref = "",
                  const std::string& pinned = "") {
    auto answer = run(url, ref, pinned);
    if (answer && std::holds_alternative<Fetched>(*answer)) return std::get<Fetched>(*answer);
    ADD_FAILURE() << (answer ? std::get<SourceRefusal>(*answer).message : answer.error().text());
    return {};
  }
  SourceRefusal refused(const std::string& url, const std::string& ref = "",
                        const std::string& pinned = "") {
    auto answer = run(url, ref, pinned);
    if (answer && std::holds_alternative<SourceRefusal>(*answer)) {
      return std::get<SourceRefusal>(*answer);
    }
    ADD_FAILURE() << (answer ? "fetched" : answer.error().text());
    return {};
  }
  [[nodiscard]] std::string head(const std::string& ref = "HEAD") const {
    return shell_output(repo(), "git rev-parse '" + ref + "^{commit}'");
  }

  tests::TempDir dir_;
  GitPolicy policy_;
  std::shared_ptr<CancelToken> cancel_ = std::make_shared<CancelToken>();
  stdfs::path last_;
};

TEST_F(FetchGit, GetsTheHeadAndItsTreeAndNothingBefore) {
  make_repository(repo());
  shell(repo(), "git commit -q --allow-empty -m c2");
  const auto got = fetched(url());
  EXPECT_EQ(got.commit, head());
  auto store = source::ObjectStore::open(got.objects);
  ASSERT_TRUE(store.has_value());
  const auto tree = source::read_tree(*store, *gitfmt::ObjectId::parse(got.commit));
  ASSERT_TRUE(tree.has_value());
  EXPECT_EQ(std::get<0>(*tree).size(), 2U);
  EXPECT_FALSE(store->header(*gitfmt::ObjectId::parse(head("HEAD~1"))).has_value());
}

TEST_F(FetchGit, FindsBranchesTagsFullNamesAndCommits) {
  make_repository(repo());
  shell(repo(),
        "git tag -a -m t v1; git tag -a -m tt outer v1;"
        " git commit -q --allow-empty -m c2; git branch a/b");
  const std::string first = head("HEAD~1");
  EXPECT_EQ(fetched(url(), "v1").commit, first);
  EXPECT_EQ(fetched(url(), "outer").commit, first);
  EXPECT_EQ(fetched(url(), "main").commit, head());
  EXPECT_EQ(fetched(url(), "a/b").ref, "refs/heads/a/b");
  EXPECT_EQ(fetched(url(), "refs/tags/v1").commit, first);
  EXPECT_EQ(fetched(url(), "refs/heads/main").commit, head());
  EXPECT_EQ(fetched(url(), first).commit, first) << "by id";
  EXPECT_EQ(fetched(url(), "main", first).commit, first) << "a pin wins";
}

TEST_F(FetchGit, ACommitThatIsNowhereIsSaid) {
  make_repository(repo());
  EXPECT_EQ(refused(url(), std::string(40, '1')).reason, Reason::ref_not_found);
}

TEST_F(FetchGit, OddNamesAreNames) {
  make_repository(repo());
  shell(repo(),
        "C=$(git rev-parse HEAD); for r in refs/heads/-rf refs/heads/--upload-pack=touch_x"
        " refs/heads/HEAD refs/tags/main refs/heads/\xe6\x97\xa5 'refs/heads/a\"b';"
        " do git update-ref \"$r\" $C; done");
  for (const char* ref :
       {"-rf", "--upload-pack=touch_x", "main", "\xe6\x97\xa5", "a\"b", "refs/heads/-rf"}) {
    EXPECT_EQ(fetched(url(), ref).commit, head()) << ref;
  }
  EXPECT_FALSE(stdfs::exists(last_ / "touch_x"));
}

TEST_F(FetchGit, WhatIsNotThereIsSaid) {
  make_repository(repo());
  shell(repo(), "git tag blobtag HEAD:go.mod");
  EXPECT_EQ(refused(url(), "nowhere").reason, Reason::ref_not_found);
  EXPECT_EQ(refused(url(), "ma*").reason, Reason::ref_not_found);
  EXPECT_EQ(refused(url(), "a..b").reason, Reason::ref_not_found);
  EXPECT_EQ(refused(url(), "blobtag").reason, Reason::ref_not_found);
  EXPECT_EQ(refused("file:///nonexistent/repository").reason, Reason::repository_not_found);
  stdfs::create_directories(dir_ / "empty");
  shell(dir_ / "empty", "git init -q");
  EXPECT_EQ(refused("file://" + (dir_ / "empty").string()).reason, Reason::empty_repository);
  shell(repo(), "git symbolic-ref HEAD refs/heads/nothing");
  EXPECT_EQ(refused(url()).reason, Reason::empty_repository);
}

TEST_F(FetchGit, OtherObjectFormatsAreRefused) {
  stdfs::create_directories(repo());
  shell(repo(), "git init -q --object-format=sha256; git commit -q --allow-empty -m x");
  EXPECT_EQ(refused(url()).reason, Reason::unsupported_object_format);
}

TEST_F(FetchGit, WithoutPermissionNothingLocalIsTouched) {
  make_repository(repo());
  policy_.allow_local = false;
  EXPECT_EQ(refused(url()).reason, Reason::source_not_allowed);
  EXPECT_EQ(refused("http://127.0.0.1:1/x").reason, Reason::source_not_allowed);
  EXPECT_FALSE(stdfs::exists(last_));
  policy_.allowed = {url()};
  EXPECT_EQ(fetched(url()).commit, head());
}

TEST_F(FetchGit, TheSizeIsBounded) {
  make_repository(repo(), "head -c 40000000 /dev/urandom > big");
  policy_.bytes_max = 1000;
  EXPECT_EQ(refused(url()).reason, Reason::snapshot_too_large);
}

TEST_F(FetchGit, AServerThatSaysNothingIsGivenUp) {
  const tests::SilentServer server;
  policy_.time_max = std::chrono::milliseconds(500);
  const auto why = refused("http://127.0.0.1:" + std::to_string(server.port()) + "/x");
  EXPECT_EQ(why.reason, Reason::upstream);
  EXPECT_THAT(why.message, HasSubstr("too long"));
}

TEST_F(FetchGit, CancellingEndsIt) {
  const tests::SilentServer server;
  asio::io_context loop;
  FetchRequest request{"http://127.0.0.1:" + std::to_string(server.port()) + "/x", "", "",
                       dir_ / "into"};
  auto done = asio::co_spawn(
      loop, fetch_git(request, std::make_shared<GitPolicy>(policy_), cancel_), asio::use_future);
  asio::steady_timer soon(loop, std::chrono::milliseconds(100));
  soon.async_wait([this](const boost::system::error_code&) { cancel_->cancel(); });
  loop.run();
  const auto answer = done.get();
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, Errc::cancelled);
}

TEST_F(FetchGit, OverHttpWithACredentialThatIsBoundToItsPath) {
  make_repository(dir_ / "root" / "team" / "a");
  const tests::HttpGitServer server(dir_ / "root", "Basic Ym90Omh1bnRlcjI=");
  const std::string place = "127.0.0.1:" + std::to_string(server.port());
  EXPECT_EQ(refused("http://" + place + "/team/a/.git").reason, Reason::repository_not_found)
      << "no credential";
  policy_.credentials = *parse_credentials("http://bot:hunter2@" + place + "/team/\n");
  EXPECT_EQ(fetched("http://" + place + "/team/a/.git", "main").commit,
            shell_output(dir_ / "root" / "team" / "a", "git rev-parse HEAD"));
  EXPECT_EQ(refused("http://" + place + "/other/a/.git").reason, Reason::repository_not_found);
  EXPECT_EQ(server.authorized_outside("/team/"), 0) << "the header went nowhere else";
}

TEST_F(FetchGit, RedirectionsAreNotFollowed) {
  make_repository(dir_ / "root" / "a");
  const tests::HttpGitServer target(dir_ / "root", "");
  const tests::HttpGitServer server(dir_ / "root", "",
                                    "http://127.0.0.1:" + std::to_string(target.port()));
  const auto why = refused("http://127.0.0.1:" + std::to_string(server.port()) + "/a/.git");
  EXPECT_EQ(why.reason, Reason::source_not_allowed);
  EXPECT_EQ(target.requests(), 0);
}

TEST_F(FetchGit, NoSecretIsLeftInMessages) {
  policy_.credentials = *parse_credentials("http://bot:hunter2@127.0.0.1:1/\n");
  const auto why = refused("http://127.0.0.1:1/a");
  EXPECT_EQ(why.reason, Reason::upstream);
  EXPECT_THAT(why.message, Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace cupel::worker
