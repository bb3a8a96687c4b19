// Logs and attachments, and calls that are cancelled or wait for one another.
#include "tests/unit/common_docker/client_fixture.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

namespace cupel::docker {
namespace {

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

}  // namespace
}  // namespace cupel::docker
