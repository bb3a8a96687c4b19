#include "tests/unit/common_docker/client_fixture.hpp"

namespace cupel::docker {
namespace {

// ---- each call has its own budget
// ----------------------------------------------------------------

struct BudgetCase {
  const char* call;
  Duration EngineBudgets::* budget;
  std::function<Awaitable<Result<void>>(Client&)> make;
};

template <typename T>
Awaitable<Result<void>> only_error(Awaitable<Result<T>> task) {
  const Result<T> result = co_await std::move(task);
  if (!result) co_return result.error();
  co_return Result<void>();
}

Awaitable<Result<void>> only_error(Awaitable<LogEnd> task) {
  const LogEnd end = co_await std::move(task);
  if (end.error) co_return *end.error;
  co_return Result<void>();
}

std::vector<BudgetCase> budget_cases() {
  return {
      {"ping", &EngineBudgets::ping, [](Client& c) { return c.ping(); }},
      {"version", &EngineBudgets::version, [](Client& c) { return only_error(c.negotiate()); }},
      {"info", &EngineBudgets::version, [](Client& c) { return only_error(c.info()); }},
      {"create", &EngineBudgets::create, [](Client& c) { return only_error(c.create("n", "{}")); }},
      {"attach", &EngineBudgets::attach, [](Client& c) { return only_error(c.attach("c")); }},
      {"start", &EngineBudgets::start, [](Client& c) { return c.start("c"); }},
      {"wait", &EngineBudgets::wait_head, [](Client& c) { return only_error(c.wait("c", 20s)); }},
      {"kill", &EngineBudgets::kill, [](Client& c) { return c.kill("c"); }},
      {"logs", &EngineBudgets::logs,
       [](Client& c) { return only_error(c.logs("c", 1000, [](Stream, std::string_view) {})); }},
      {"inspect", &EngineBudgets::inspect, [](Client& c) { return only_error(c.inspect("c")); }},
      {"remove", &EngineBudgets::remove, [](Client& c) { return c.remove("c"); }},
      {"list", &EngineBudgets::list, [](Client& c) { return only_error(c.list({"a"})); }},
      {"image_inspect", &EngineBudgets::image,
       [](Client& c) { return only_error(c.image_inspect("a")); }},
  };
}

TEST_F(ClientTest, EachCallGivesUpAfterItsOwnBudgetWhenTheEngineIsSilent) {
  for (const BudgetCase& one : budget_cases()) {
    EngineBudgets budgets = long_budgets();
    budgets.*one.budget = kBudget;
    Client& silent = client({{.hang = true}}, budgets);
    const auto started = steady_clock::now();

    const Result<void> result = await(one.make(silent));

    ASSERT_FALSE(result) << one.call;
    EXPECT_EQ(result.error().code, Errc::engine_timeout) << one.call;
    EXPECT_GE(steady_clock::now() - started, kBudget) << one.call;
    EXPECT_LT(steady_clock::now() - started, 10s) << one.call;
    ASSERT_FALSE(seen.empty());
    EXPECT_EQ(seen.back().call, one.call);
    EXPECT_EQ(seen.back().outcome, CallOutcome::timeout);
  }
}

TEST_F(ClientTest, ATrickleOfBytesDoesNotStretchTheBudget) {
  EngineBudgets budgets = long_budgets();
  budgets.inspect = kBudget;
  Play trickle;
  for (const char c : test::answer(200, std::string(500, ' '))) {
    trickle.steps.push_back({.after = 10ms, .bytes = std::string(1, c)});
  }

  const auto result = await(client({trickle}, budgets).inspect("c"));

  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::engine_timeout);
}

TEST_F(ClientTest, TheBodyOfAWaitHasItsOwnClock) {
  EngineBudgets budgets = long_budgets();
  budgets.wait_head = kBudget;
  const std::string body = R"({"StatusCode":5})";
  const std::string whole = test::answer(200, body);
  const std::string head = whole.substr(0, whole.size() - body.size());

  const auto late =
      await(client({{.steps = {{.bytes = head}, {.after = 3 * 80ms, .bytes = body}}}}, budgets)
                .wait("c", 20s));
  const auto never =
      await(client({{.steps = {{.bytes = head}}, .hang = true}}, budgets).wait("c", kBudget));

  ASSERT_TRUE(late) << late.error().text();
  EXPECT_EQ(late->exit_code, 5);
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().code, Errc::engine_timeout);
}

// ---- what an engine can do wrong
// -------------------------------------------------------------------

TEST_F(ClientTest, BrokenAnswersAreProtocolErrors) {
  const std::string huge =
      "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n" + std::string(2'000'000, ' ');
  std::string headers = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 20'000; ++i) headers += "X-A: b\r\n";
  for (const std::string& bytes : {std::string("\x00\x01garbage\r\n\r\n", 12), huge, headers,
                                   test::answer(200, "not json"), test::answer(200, "[1,2]")}) {
    const auto result = await(client({{.steps = {{.bytes = bytes}}}}).inspect("c"));

    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::engine_protocol) << bytes.substr(0, 40);
  }
}

TEST_F(ClientTest, AClosedConnectionAndAMissingSocketAreUnreachable) {
  const auto closed = await(client({Play{}}).ping());
  Client missing(io.get_executor(), {.socket_path = "/nonexistent/engine.sock"});

  const auto result = await(missing.ping());

  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, Errc::engine_unreachable);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::engine_unreachable);
  EXPECT_EQ(result.error().what, "ping: no answer from the engine");
}

TEST_F(ClientTest, AnAnswerThatIsCutIsAnEngineThatWentAway) {
  const std::string cut = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"State\":";

  const auto result = await(client({{.steps = {{.bytes = cut}}}}).inspect("c"));

  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::engine_unreachable);
  EXPECT_EQ(engine->requests().size(), 1U);  // something was answered: not made again
}

TEST_F(ClientTest, AConnectionThatIsClosedUnansweredIsTriedOnceMoreButNotForACreate) {
  Client& twice = client({Play{}, plain(204, "")});
  EXPECT_TRUE(await(twice.start("c")));
  EXPECT_EQ(engine->requests().size(), 2U);

  Client& once = client({Play{}, plain(201, R"({"Id":"c"})")});
  EXPECT_FALSE(await(once.create("n", "{}")));
  EXPECT_EQ(engine->requests().size(), 1U);
}

TEST_F(ClientTest, TheEnginesWordsAreKeptApartAndCapped) {
  const auto result = await(
      client({plain(500, R"({"message":"out of )" + std::string(90'000, 'x') + "\"}")}).start("c"));

  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::engine_refused);
  EXPECT_LE(result.error().detail.size(), 4096U);
  EXPECT_EQ(result.error().what.find("xxx"), std::string::npos);
}

TEST_F(ClientTest, ARemovalUnderWayIsWaitedFor) {
  Client& one =
      client({plain(409, R"({"message":"removal of container c is already in progress"})"),
              {.steps = {{.after = 50ms, .bytes = test::answer(200, R"({"StatusCode":0})")}}}});

  const auto removed = await(one.remove("c"));

  EXPECT_TRUE(removed) << removed.error().text();
  ASSERT_EQ(engine->requests().size(), 2U);
  EXPECT_THAT(engine->requests()[0], HasSubstr("DELETE /v1.41/containers/c?force=1&v=1 "));
  EXPECT_THAT(engine->requests()[1], HasSubstr("/containers/c/wait?condition=removed "));
}

TEST_F(ClientTest, ARemovalThatNeverEndsMeetsTheSameBudget) {
  EngineBudgets budgets = long_budgets();
  budgets.remove = kBudget;
  Client& one =
      client({plain(409, R"({"message":"removal of container c is already in progress"})"),
              {.hang = true}},
             budgets);
  const auto started = steady_clock::now();

  const auto removed = await(one.remove("c"));

  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, Errc::engine_timeout);
  EXPECT_LT(steady_clock::now() - started, 10s);
}

TEST_F(ClientTest, AnOldEngineIsRefusedWithAMessageAndANewOneIsSpokenToInItsWords) {
  const auto old = await(client({plain(200, R"({"ApiVersion":"1.40"})")}).negotiate());
  Client& fresh = client({plain(200, R"({"ApiVersion":"1.45"})"), plain(200, "[]")});
  const auto version = await(fresh.negotiate());
  (void)await(fresh.list({"cupel.fleet=f-1"}));

  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().code, Errc::unsafe_sandbox);
  ASSERT_TRUE(version);
  EXPECT_THAT(
      engine->requests().at(1),
      HasSubstr(
          "GET /v1.45/containers/json?all=1&filters=%7B%22label%22%3A%5B%22cupel.fleet%3Df-1"));
}

TEST_F(ClientTest, AListOfEverythingHasNoEmptyFilter) {
  Client& podman = client({plain(200, "[]")});

  const auto all = await(podman.image_list({}));

  ASSERT_TRUE(all) << all.error().text();
  EXPECT_THAT(engine->requests().at(0), HasSubstr("/images/json?filters=%7B%7D "));
}

TEST_F(ClientTest, AnImportNamesTheTagWithinTheRepository) {
  Client& podman = client({plain(200, R"({"status":"sha256:aa"})"
                                      "\n")});

  const auto id = await(podman.image_import(
      {.repository = "cupel/go", .tag = "1.26-cc", .changes = {}, .message = "m"},
      []() -> boost::asio::awaitable<Result<std::string>> { co_return std::string(); }));

  ASSERT_TRUE(id) << id.error().text();
  EXPECT_EQ(*id, "sha256:aa");
  EXPECT_THAT(engine->requests().at(0), HasSubstr("&repo=cupel%2Fgo%3A1.26-cc&message=m"));
}

// ---- images
// -----------------------------------------------------------------------------------------

TEST_F(ClientTest, APullThatFailsInsideA200AnswerFails) {
  std::vector<std::string> steps;
  const std::string reference = "example/image@sha256:" + std::string(64, 'a');

  const auto pulled =
      await(client({plain(200, "{\"status\":\"Pulling\"}\n{\"error\":\"manifest unknown\"}\n")})
                .image_pull(reference,
                            [&](const TransferProgress& one) { steps.push_back(one.status); }));

  ASSERT_FALSE(pulled);
  EXPECT_EQ(pulled.error().detail, "manifest unknown");
}

TEST_F(ClientTest, AMissingImageHasAnErrorOfItsOwn) {
  const auto facts =
      await(client({plain(404, R"({"message":"No such image"})")}).image_inspect("a"));

  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code, Errc::image_missing);
}

TEST(FindSocket, TakesOnlyUnixSockets) {
  EXPECT_EQ(find_socket({{"DOCKER_HOST", "unix:///run/x.sock"}}).value(), "/run/x.sock");
  const auto remote = find_socket({{"DOCKER_HOST", "tcp://10.0.0.1:2375"}});
  ASSERT_FALSE(remote);
  EXPECT_EQ(remote.error().code, Errc::bad_config);
}

}  // namespace
}  // namespace cupel::docker
