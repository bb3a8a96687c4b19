#include "common/engine/answers.hpp"

#include <gtest/gtest.h>

namespace cupel::engine {
namespace {

constexpr std::string_view kMessage = R"({"message":"the engine's words"})";

TEST(StartStatus, AcceptsAStartAndAContainerThatRunsAlready) {
  for (const unsigned status : {204U, 304U})
    EXPECT_TRUE(start_status(status, "", "start")) << status;
  for (const unsigned status : {200U, 400U, 404U, 500U}) {
    EXPECT_FALSE(start_status(status, "", "start")) << status;
  }
}

TEST(KillStatus, AcceptsOnlyTheStatusesThatMeanTheContainerDoesNotRun) {
  for (const unsigned status : {204U, 404U, 409U})
    EXPECT_TRUE(kill_status(status, "", "k")) << status;
  for (const unsigned status : {200U, 304U, 500U})
    EXPECT_FALSE(kill_status(status, "", "k")) << status;
  EXPECT_TRUE(kill_status(500, R"({"message":"Container abc is not running"})", "k"));
  EXPECT_TRUE(kill_status(
      500,
      R"({"cause":"container state improper","message":"can only kill running containers. 0e3a is in state exited: container state improper","response":500})",
      "k"));
}

TEST(RemoveStatus, TellsGoneFromARemovalUnderWay) {
  for (const unsigned status : {204U, 404U}) {
    EXPECT_EQ(remove_status(status, "", "r").value(), Removal::gone) << status;
  }
  const std::string_view busy = R"({"message":"removal of container abc is already in progress"})";
  EXPECT_EQ(remove_status(409, busy, "r").value(), Removal::in_progress);
  const auto runs = remove_status(
      409, R"({"message":"cannot remove a running container: stop it before removal or force it"})",
      "r");
  ASSERT_FALSE(runs);
  EXPECT_EQ(runs.error().code, Errc::conflict);
  EXPECT_FALSE(remove_status(500, R"({"message":"device or resource busy"})", "r"));
  const auto runs_in_podman = remove_status(
      500,
      R"({"cause":"container state improper","message":"cannot remove container 0e3a as it is running - running or paused containers cannot be removed without force: container state improper","response":500})",
      "r");
  ASSERT_FALSE(runs_in_podman);
  EXPECT_EQ(runs_in_podman.error().code, Errc::conflict);
}

TEST(CreateStatus, SaysWhichFailureItIs) {
  EXPECT_TRUE(create_status(201, "", "c"));
  EXPECT_EQ(create_status(404, kMessage, "c").error().code, Errc::image_missing);
  EXPECT_EQ(create_status(409, kMessage, "c").error().code, Errc::already_exists);
  EXPECT_EQ(create_status(500, kMessage, "c").error().code, Errc::engine_refused);
  EXPECT_EQ(
      create_status(
          500,
          R"({"cause":"that name is already in use","message":"container create: creating container storage: the container name \"zw\" is already in use by 776b. You have to remove that container to be able to reuse that name: that name is already in use","response":500})",
          "c")
          .error()
          .code,
      Errc::already_exists);
  EXPECT_EQ(create_status(500, kMessage, "c").error().detail, "the engine's words");
}

TEST(ParseCreated, KeepsTheWarningsAndADroppedLimitIsOne) {
  const auto created = parse_created(
      R"({"Id":"abc","Warnings":["PIDs limit discarded.","IPv4 forwarding is disabled"]})");

  ASSERT_TRUE(created);
  EXPECT_EQ(created->id, "abc");
  EXPECT_EQ(dropped_limit(created->warnings), "PIDs limit discarded.");
  EXPECT_EQ(dropped_limit({"IPv4 forwarding is disabled"}), std::nullopt);
  EXPECT_TRUE(parse_created(R"({"Id":"abc","Warnings":null})"));
  EXPECT_FALSE(parse_created(R"({"Id":"../abc"})"));
}

TEST(ErrorMessage, IsCappedAndSurvivesWhatIsNoJson) {
  EXPECT_EQ(error_message("not json"), "not json");
  EXPECT_EQ(error_message(R"({"message":7})"), R"({"message":7})");
  EXPECT_LE(error_message(std::string(100'000, 'x')).size(), 4096U);
}

TEST(ParseVersion, SpeaksTheNewestThatBothKnow) {
  const auto older = parse_version(R"({"ApiVersion":"1.41","Version":"20.10.24","Arch":"amd64"})");
  const auto newer = parse_version(R"({"ApiVersion":"1.99","MinAPIVersion":"1.24"})");

  ASSERT_TRUE(older && newer);
  EXPECT_EQ(older->api, (ApiVersion{1, 41}));
  EXPECT_EQ(older->version, "20.10.24");
  EXPECT_EQ(newer->api, kApiMax);
}

TEST(ParseVersion, RefusesEnginesThatAreTooOldOrTooNew) {
  const auto old = parse_version(R"({"ApiVersion":"1.40"})");
  const auto future = parse_version(R"({"ApiVersion":"2.0","MinAPIVersion":"1.90"})");

  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().code, Errc::unsafe_sandbox);
  EXPECT_FALSE(old.error().hint.empty());
  ASSERT_FALSE(future);
  EXPECT_EQ(future.error().code, Errc::unsafe_sandbox);
  EXPECT_EQ(parse_version("{}").error().code, Errc::engine_protocol);
}

TEST(ParseContainers, ReadsLabelsNamesAndStates) {
  const auto all = parse_containers(
      R"([{"Id":"abc","Names":["/cupel-w-1"],"ImageID":"sha256:1","State":"exited","Created":12,)"
      R"("Labels":{"cupel.run":"r1","odd":7}},{"Id":"def","Labels":null}])");

  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ(all->at(0).name, "cupel-w-1");
  EXPECT_EQ(all->at(0).labels, (std::map<std::string, std::string>{{"cupel.run", "r1"}}));
  EXPECT_EQ(all->at(0).state, "exited");
}

TEST(ParseContainers, HalfAListIsNoList) {
  EXPECT_FALSE(parse_containers(R"([{"Id":"abc"},{"Names":["/x"]}])"));
  EXPECT_FALSE(parse_containers(R"([{"Id":"../../etc"}])"));
  EXPECT_FALSE(parse_containers(R"([{"Id":"abc"})"));
  EXPECT_FALSE(parse_containers("{}"));
}

TEST(ParseContainer, KeepsOutOfMemoryBesideTheExitCode) {
  const auto state = parse_container(
      R"({"State":{"Status":"exited","Running":false,"OOMKilled":true,"ExitCode":0},"Config":{"Labels":{"a":"b"}}})");

  ASSERT_TRUE(state);
  EXPECT_TRUE(state->oom_killed);
  EXPECT_EQ(state->exit_code, 0);
  EXPECT_EQ(state->labels.at("a"), "b");
  EXPECT_FALSE(parse_container(R"({"State":7})"));
}

TEST(ParseWait, NeedsAStatusCode) {
  EXPECT_EQ(parse_wait(R"({"StatusCode":137,"Error":null})")->exit_code, 137);
  EXPECT_FALSE(parse_wait(R"({"StatusCode":"0"})"));
  EXPECT_FALSE(parse_wait(""));
  for (const char* const nonsense :
       {R"({"StatusCode":-1})", R"({"StatusCode":256})", R"({"StatusCode":4294967295})",
        R"({"StatusCode":0.5})", R"({"StatusCode":0,"Error":{"Message":"no"}})", "null", "{}"}) {
    EXPECT_FALSE(parse_wait(nonsense)) << nonsense;
  }
}

TEST(ParseImage, ReadsWhatTheSandboxMustKnow) {
  const auto image = parse_image(
      R"({"Id":"sha256:1","RepoTags":["a:b"],"Config":{"Env":["PATH=/bin","X=1"],"Volumes":{"/data":{}},"Labels":{"k":"v"}},"Size":42})");

  ASSERT_TRUE(image);
  EXPECT_EQ(image->environment, (std::vector<std::string>{"PATH=/bin", "X=1"}));
  EXPECT_EQ(image->volumes, std::vector<std::string>{"/data"});
  EXPECT_EQ(image->labels.at("k"), "v");
  EXPECT_EQ(image->size_bytes, 42U);
}

TEST(ProgressLines, JoinsPiecesAndStopsAtTheEnginesError) {
  ProgressLines lines;

  const auto first =
      lines.feed("{\"status\":\"Down\",\"id\":\"l1\",\"progressDetail\":{\"current\":1,");
  const auto second = lines.feed("\"total\":9}}\r\n{\"status\":\"done\"}\n");
  const auto third = lines.feed("{\"error\":\"no space\"}\n");

  EXPECT_TRUE(first && first->empty());
  ASSERT_TRUE(second);
  ASSERT_EQ(second->size(), 2U);
  EXPECT_EQ(second->at(0).total_bytes, 9U);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().detail, "no space");
}

TEST(ProgressLines, ALineWithoutAnEndIsAnError) {
  ProgressLines lines;

  EXPECT_FALSE(lines.feed(std::string(70'000, 'x')));
}

TEST(UrlEscape, LeavesNothingThatCouldEndAQueryValue) {
  EXPECT_EQ(url_escape("a b&c=d/é"), "a%20b%26c%3Dd%2F%C3%A9");
}

TEST(IsContainerRef, RefusesWhatCouldChangeTheRequestPath) {
  for (const char* const good : {"4f1c9a", "cupel-w-1-abc", "a.b_c"}) {
    EXPECT_TRUE(is_container_ref(good)) << good;
  }
  for (const char* const bad : {"", "../x", "a/b", "a?b", "a b", "-x", ".x", "a\n"}) {
    EXPECT_FALSE(is_container_ref(bad)) << bad;
  }
}

}  // namespace
}  // namespace cupel::engine
