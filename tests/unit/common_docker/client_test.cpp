#include "common/docker/client.hpp"

#include "tests/unit/common_docker/fake_engine.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace cupel::docker {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using std::chrono::steady_clock;
using test::FakeEngine;
using test::plain;
using test::Play;
using ::testing::HasSubstr;

constexpr Duration kBudget = 80ms;

/// Every budget is long but the one that the test sets.
EngineBudgets long_budgets() {
  EngineBudgets all;
  for (Duration* const one : {&all.ping, &all.version, &all.create, &all.attach, &all.start,
                              &all.wait_head, &all.kill, &all.second_wait, &all.logs, &all.inspect,
                              &all.remove, &all.list, &all.image, &all.transfer}) {
    *one = 20s;
  }
  return all;
}

class ClientTest : public ::testing::Test {
 protected:
  template <typename T>
  T await(Awaitable<T> task) {
    std::optional<T> value;
    asio::co_spawn(io, std::move(task), [&](const std::exception_ptr& failure, T result) {
      if (failure) std::rethrow_exception(failure);
      value.emplace(std::move(result));
    });
    io.restart();
    while (!value && io.run_one() > 0) {
    }
    return std::move(*value);
  }

  Client& client(std::vector<Play> script, EngineBudgets budgets = long_budgets()) {
    engine = std::make_unique<FakeEngine>(io, std::move(script));
    ClientOptions options{.socket_path = engine->path(), .budgets = budgets};
    options.observer = [this](const CallObservation& one) { seen.push_back(one); };
    client_ = std::make_unique<Client>(io.get_executor(), std::move(options));
    return *client_;
  }

  asio::io_context io{1};
  std::unique_ptr<FakeEngine> engine;
  std::vector<CallObservation> seen;

 private:
  std::unique_ptr<Client> client_;
};

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

// ---- logs
// ------------------------------------------------------------------------------------------

std::string frames(int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += std::string("\x01\0\0\0\0\0\0\x04", 8) + "abcd";
  return bytes;
}

std::string stream_head() {
  return "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n";
}

TEST_F(ClientTest, LogsThatTimeOutKeepWhatWasRead) {
  EngineBudgets budgets = long_budgets();
  budgets.logs = kBudget;
  std::string kept;

  const LogEnd end =
      await(client({{.steps = {{.bytes = stream_head() + frames(3)}}, .hang = true}}, budgets)
                .logs("c", 1000, [&](Stream, std::string_view bytes) { kept += bytes; }));

  ASSERT_TRUE(end.error);
  EXPECT_EQ(end.error->code, Errc::engine_timeout);
  EXPECT_EQ(kept, "abcdabcdabcd");
  EXPECT_FALSE(end.complete);
}

TEST_F(ClientTest, LogsCutInsideAFrameAreNotComplete) {
  std::string kept;
  const auto sink = [&](Stream, std::string_view bytes) { kept += bytes; };
  const std::string all = stream_head() + frames(2);

  const LogEnd whole = await(client({{.steps = {{.bytes = all}}}}).logs("c", 1000, sink));
  const LogEnd cut =
      await(client({{.steps = {{.bytes = all.substr(0, all.size() - 2)}}}}).logs("c", 1000, sink));

  EXPECT_TRUE(whole.complete);
  EXPECT_FALSE(cut.complete);
  EXPECT_EQ(kept, "abcdabcdabcdab");
}

TEST_F(ClientTest, EndlessLogsAreStoppedAtTheCallersBound) {
  std::uint64_t kept = 0;
  const std::string many = frames(10'000);
  Play flood{.steps = {{.bytes = stream_head()}}};
  for (int i = 0; i < 200; ++i) flood.steps.push_back({.bytes = many});

  const LogEnd end = await(client({flood}).logs(
      "c", 100'000, [&](Stream, std::string_view bytes) { kept += bytes.size(); }));

  EXPECT_TRUE(end.stopped);
  EXPECT_FALSE(end.complete);
  EXPECT_LT(kept, 300'000U);
}

TEST_F(ClientTest, BytesThatAreNoFramesAreAProtocolError) {
  const LogEnd end =
      await(client({{.steps = {{.bytes = stream_head() + "plain text that is no frame"}}}})
                .logs("c", 1000, [](Stream, std::string_view) {}));

  ASSERT_TRUE(end.error);
  EXPECT_EQ(end.error->code, Errc::engine_protocol);
}

// ---- attach, cancellation, queues
// -------------------------------------------------------------------

TEST_F(ClientTest, AnAttachmentPassesOnWhatCameWithTheAnswersHead) {
  const std::string head = "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n";
  Client& one = client({{.steps = {{.bytes = head + "early"}, {.after = 30ms, .bytes = "late"}}}});

  auto attached = await(one.attach("c"));
  ASSERT_TRUE(attached) << attached.error().text();
  const auto sent = await(attached->send("orders", 5s));
  std::string all;
  for (auto piece = await(attached->read()); piece && !piece->empty();
       piece = await(attached->read())) {
    all += *piece;
  }

  EXPECT_TRUE(sent);
  EXPECT_EQ(all, "earlylate");
  EXPECT_THAT(engine->requests().at(0), HasSubstr("Upgrade: tcp"));
}

TEST_F(ClientTest, ARefusedAttachmentKeepsTheEnginesWords) {
  const auto attached =
      await(client({plain(404, R"({"message":"no such container"})")}).attach("c"));

  ASSERT_FALSE(attached);
  EXPECT_EQ(attached.error().code, Errc::not_found);
  EXPECT_EQ(attached.error().detail, "no such container");
}

TEST_F(ClientTest, ACancelledCallSaysCancelledAndNotTimeout) {
  Client& silent = client({{.hang = true}});
  asio::cancellation_signal stop;
  std::optional<Result<void>> result;
  asio::co_spawn(
      io, silent.kill("c"),
      asio::bind_cancellation_slot(stop.slot(), [&](const std::exception_ptr&, Result<void> r) {
        result.emplace(std::move(r));
      }));
  io.restart();
  while (engine->requests().empty() && io.run_one() > 0) {
  }

  stop.emit(asio::cancellation_type::terminal);
  while (!result && io.run_one() > 0) {
  }

  ASSERT_FALSE(*result);
  EXPECT_EQ(result->error().code, Errc::cancelled);
  EXPECT_EQ(seen.back().outcome, CallOutcome::cancelled);
}

TEST_F(ClientTest, CallsBeyondTheLimitQueueInsideTheirOwnBudget) {
  EngineBudgets budgets = long_budgets();
  budgets.inspect = 300ms;
  budgets.start = kBudget;
  engine = std::make_unique<FakeEngine>(io, std::vector<Play>{{.hang = true}});
  Client narrow(io.get_executor(),
                {.socket_path = engine->path(), .budgets = budgets, .calls_max = 1});
  int ended = 0;
  asio::co_spawn(io, narrow.inspect("c"),
                 [&](const std::exception_ptr&, Result<ContainerState>) { ++ended; });

  const auto started = await(narrow.start("c"));

  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Errc::engine_timeout);
  EXPECT_EQ(engine->requests().size(), 1U);  // it never reached the engine
  while (ended == 0 && io.run_one() > 0) {
  }
}

TEST_F(ClientTest, ARequestThatCouldChangeItsPathIsNeverSent) {
  Client& one = client({plain(204, "")});

  EXPECT_FALSE(await(one.kill("../images/prune")));
  EXPECT_FALSE(await(one.image_inspect("../containers")));
  EXPECT_FALSE(await(one.image_pull("golang:1.26")));  // a tag is no digest
  EXPECT_TRUE(engine->requests().empty());
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
