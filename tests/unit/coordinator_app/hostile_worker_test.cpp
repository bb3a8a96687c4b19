// Peers with a trusted key and bad intentions, against the real daemon. Whatever they do, an honest
// worker keeps its leases and its campaign ends with the right verdicts.
#include "tests/unit/coordinator_app/hostile_fixture.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cupel::coordinator {
namespace {

TEST_F(HostileWorkerTest, LiesInAHelloGetNowhere) {
  start();
  const std::string campaign = begin_with_an_honest_worker();
  start_peer();

  Hello lie = peer_->hello();
  lie.worker = WorkerId{77};  // the honest worker's
  peer_->tell(lie);
  EXPECT_EQ(peer_->await<Refuse>().code, Errc::refused_by_policy);
  lie = peer_->hello();
  lie.worker = WorkerId{};
  peer_->tell(lie);
  EXPECT_EQ(peer_->await<Refuse>().code, Errc::refused_by_policy);
  lie = peer_->hello();
  lie.protocol_min = lie.protocol_max = 99;
  peer_->tell(lie);
  EXPECT_EQ(peer_->await<Refuse>().code, Errc::protocol_mismatch);
  // What it claims to run and to have answered is the honest worker's.
  lie = peer_->hello(UINT32_MAX);
  lie.host = "honest";
  for (const Lease& lease : executes()) {
    lie.running.push_back({lease.spec.id, lease.token});
    lie.unacknowledged.push_back({lease.spec.id, lease.token});
  }
  peer_->tell(lie);
  const auto welcome = peer_->await<Welcome>();
  EXPECT_TRUE(welcome.keep.empty());
  EXPECT_TRUE(welcome.resend.empty());
  EXPECT_EQ(welcome.cancel.size(), executes().size());
  EXPECT_EQ(welcome.worker_name, "hostile");
  peer_->tell(peer_->heartbeat({}, 0));  // takes no work away

  const json listed = get("/api/v1/workers");
  for (const json& worker : listed.at("workers")) {
    const bool honest = worker["name"] == "honest";
    EXPECT_EQ(worker["labels"], honest ? json({{"trust", "high"}}) : json({{"zone", "dmz"}}));
    EXPECT_LE(worker["slots"], 256);
  }
  EXPECT_EQ(metric("cupel_sessions_total{result=\"identity\"}"), 2);
  EXPECT_EQ(metric("cupel_sessions_total{result=\"version\"}"), 1);
  finish(campaign);
}

TEST_F(HostileWorkerTest, GuessedTokensChangeNothing) {
  start();
  const std::string campaign = begin_with_an_honest_worker();
  start_peer();
  const Welcome welcome = peer_->join(0);

  std::vector<LiveLease> guesses;
  for (const Lease& lease : worker_->leases()) guesses.push_back({lease.spec.id, lease.token});
  const std::vector<LiveLease> known = guesses;
  for (std::uint64_t n = 1; n <= 40; ++n) guesses.push_back({executes()[0].spec.id, Token{n * 7}});
  std::erase_if(guesses, [&](const LiveLease& guess) {
    return guess.task == executes()[0].spec.id && guess.token != executes()[0].token &&
           guess.token.value % 7 != 0;
  });
  for (const LiveLease& guess : guesses) {
    TaskResult result;
    result.task = guess.task;
    result.token = guess.token;
    result.outcome = Outcome::failing;
    peer_->tell(ResultMessage{result});
    const auto ack = peer_->await<ResultAck>();
    EXPECT_EQ(ack.lease, guess);
    EXPECT_FALSE(ack.accepted) << guess.token.value;
    peer_->tell(LogTail{guess.task, guess.token, CheckKind::test, Stream::out, 0, "forged"});
  }
  peer_->tell(peer_->heartbeat(guesses, 0));
  EXPECT_EQ(peer_->await<HeartbeatAck>().lost, guesses);

  const std::string bytes = "forged log";
  const auto uploaded =
      client().send("POST", "/api/v1/artifacts", "secret", "application/octet-stream",
                    {{"X-Cupel-Digest", "sha256:" + sha256("secret").hex()}});
  ASSERT_TRUE(uploaded);
  for (const LiveLease& guess : known) {
    const auto put = peer_->put(welcome.session, guess, sha256(bytes), bytes);
    ASSERT_TRUE(put);
    EXPECT_EQ(put->code, Errc::lease_lost);
    const auto got = peer_->get(welcome.session, guess, sha256("secret"));
    ASSERT_TRUE(got);
    EXPECT_EQ(got->code, Errc::lease_lost);
    for (std::uint64_t session = 0; session < 12; ++session) {
      if (session == welcome.session) continue;
      const auto stolen = peer_->put(session, guess, sha256(bytes), bytes);
      ASSERT_TRUE(stolen);
      EXPECT_EQ(stolen->code, Errc::not_trusted);
    }
  }

  EXPECT_EQ(metric("cupel_fenced_messages_total{type=\"result\"}"), guesses.size());
  EXPECT_EQ(metric("cupel_fenced_messages_total{type=\"renewal\"}"), guesses.size());
  EXPECT_EQ(metric("cupel_fenced_messages_total{type=\"log\"}"), guesses.size());
  EXPECT_GE(metric("cupel_bulk_transfers_total{result=\"refused\"}"),
            static_cast<double>(2 * known.size()));
  EXPECT_EQ(metric("cupel_bulk_transfers_total{result=\"put\"}"), 0);
  finish(campaign);
}

TEST_F(HostileWorkerTest, AFloodDelaysNobodyAndIsCounted) {
  start();
  const std::string campaign = begin_with_an_honest_worker();
  start_peer();
  static_cast<void>(peer_->join(0));

  Heartbeat beat;
  beat.capacity.slots = 0;
  beat.beat = 1;
  peer_->raw(net::Plane::control, wire::encode(ToCoordinator(beat)), 6000);
  peer_->raw(net::Plane::control, wire::encode(ToCoordinator(peer_->hello(0))), 2000);
  peer_->raw(net::Plane::control, std::string(4096, '\xff'), 2000);
  peer_->raw(net::Plane::bulk, std::string(4096, '\xff'), 2000);
  peer_->raw(net::Plane::bulk, wire::encode(BulkToCoordinator(PutChunk{1, 1, 0, "x"})), 4000);

  finish(campaign);
  EXPECT_GT(metric("cupel_bus_rate_limited_total{plane=\"control\"}"), 0);
  EXPECT_GT(metric("cupel_bus_rate_limited_total{plane=\"bulk\"}"), 0);
  EXPECT_GT(metric("cupel_bus_decode_failures_total{plane=\"control\"}"), 0);
  EXPECT_GT(metric("cupel_bus_decode_failures_total{plane=\"bulk\"}"), 0);
}

TEST_F(HostileWorkerTest, StrangersAtTheDoorDelayNobody) {
  start();
  const std::string campaign = begin_with_an_honest_worker();
  const std::string control = daemon_->ready()["control"].get<std::string>();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port =
      htons(static_cast<std::uint16_t>(std::stoi(control.substr(control.rfind(':') + 1))));

  std::vector<int> strangers;
  for (int i = 0; i < 300; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_GE(fd, 0);
    strangers.push_back(fd);
    ASSERT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    // Some are silent, some speak something else.
    if (i % 2 == 0) static_cast<void>(::send(fd, "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL));
  }

  finish(campaign);
  for (const int fd : strangers) ::close(fd);
}

TEST_F(HostileWorkerTest, RenewingForEverKeepsNoTask) {
  start({"--max-task=1s"});
  start_peer();
  static_cast<void>(peer_->join(3));
  const std::string campaign = submit();
  std::vector<LiveLease> held;
  for (int i = 0; i < 3; ++i) {
    const auto lease = peer_->await<Lease>();
    held.push_back({lease.spec.id, lease.token});
  }
  start_worker(pass_everything, key_);

  // A lease lasts two seconds, so one renewal carries them all beyond what a task may take here.
  peer_->tell(peer_->heartbeat(held, 3));
  EXPECT_EQ(peer_->await<HeartbeatAck>().renewed, held);
  for (std::size_t i = 0; i < held.size(); ++i) static_cast<void>(peer_->await<CancelTask>());
  peer_->tell(peer_->heartbeat(held, 3));
  EXPECT_EQ(peer_->await<HeartbeatAck>().lost, held);

  events_until_end(campaign);
  expect_the_verdicts_of_three_modules(campaign);
  EXPECT_EQ(metric("cupel_leases_overrun_total"), 3);
  EXPECT_EQ(metric("cupel_task_retries_total{reason=\"overrun\"}"), 3);
}

TEST_F(HostileWorkerTest, ArtifactsOnlyWithALeaseThatNamesThem) {
  start();
  start_peer();
  const Welcome welcome = peer_->join(1);
  const std::string campaign = submit();
  const auto lease = peer_->await<Lease>();
  const LiveLease live{lease.spec.id, lease.token};
  const std::string secret = "another campaign's source";
  const auto uploaded =
      client().send("POST", "/api/v1/artifacts", secret, "application/octet-stream",
                    {{"X-Cupel-Digest", "sha256:" + sha256(secret).hex()}});
  ASSERT_TRUE(uploaded);

  const auto unnamed = peer_->get(welcome.session, live, sha256(secret));
  const auto no_lease = peer_->put(welcome.session, {TaskId{1}, Token{}}, sha256("x"), "x");
  const auto wrong = peer_->put(welcome.session, live, sha256("this"), "that");
  peer_->tell(PutBegin{welcome.session, 900, live, sha256("big"), kArtifactBytesMax + 1});
  const auto large = peer_->await_bulk<BulkRefuse>();
  peer_->tell(PutBegin{welcome.session, 901, live, sha256("gap"), 10});
  static_cast<void>(peer_->await_bulk<PutReady>());
  peer_->tell(PutChunk{welcome.session, 901, 5, "12345"});
  const auto gap = peer_->await_bulk<BulkRefuse>();
  peer_->tell(PutBegin{welcome.session, 902, live, sha256("beyond"), 4});
  static_cast<void>(peer_->await_bulk<PutReady>());
  peer_->tell(PutChunk{welcome.session, 902, 0, "12345"});
  const auto beyond = peer_->await_bulk<BulkRefuse>();

  ASSERT_TRUE(unnamed && no_lease && wrong);
  EXPECT_EQ(unnamed->code, Errc::refused_by_policy);
  EXPECT_EQ(no_lease->code, Errc::lease_lost);
  EXPECT_EQ(wrong->code, Errc::artifact_mismatch);
  EXPECT_EQ(large.code, Errc::too_large);
  EXPECT_EQ(gap.code, Errc::retry_later);
  EXPECT_EQ(beyond.code, Errc::refused_by_policy);
  EXPECT_EQ(metric("cupel_bulk_transfers_total{result=\"mismatched\"}"), 1);
  EXPECT_EQ(metric("cupel_bulk_transfers_total{result=\"refused\"}"), 6);
  peer_.reset();  // its lease runs out
  start_worker(pass_everything, key_);
  events_until_end(campaign);
  expect_the_verdicts_of_three_modules(campaign);
}

TEST_F(HostileWorkerTest, ASecondProcessWithTheSameKeyWaits) {
  start();
  const std::string campaign = begin_with_an_honest_worker();
  HostilePeer twin(daemon_->ready(), key_, WorkerId{77});

  twin.tell(twin.hello());

  const auto refused = twin.await<Refuse>();
  EXPECT_EQ(refused.code, Errc::duplicate_identity);
  EXPECT_GT(refused.retry_after_ms, 0U);
  // Without a session it can't speak for the worker either.
  TaskResult forged = *pass_everything(executes()[0]);
  forged.outcome = Outcome::failing;
  twin.tell(ResultMessage{forged});
  static_cast<void>(twin.await<HelloAgain>());
  EXPECT_GE(metric("cupel_sessions_total{result=\"duplicate\"}"), 1);
  EXPECT_GE(metric("cupel_sessions_total{result=\"none\"}"), 1);
  finish(campaign);
}

TEST_F(HostileWorkerTest, ARevokedKeyIsThrownOutWhenItsFileChanges) {
  start();
  start_peer();
  static_cast<void>(peer_->join(1));
  const std::string campaign = submit();
  const auto lease = peer_->await<Lease>();

  ASSERT_TRUE(net::remove_trusted(dir_ / "trusted", "hostile"));

  EXPECT_EQ(peer_->await<Refuse>().code, Errc::not_trusted);
  EXPECT_TRUE(get("/api/v1/workers")["workers"].empty());
  peer_->tell(ResultMessage{*pass_everything(lease)});  // nobody hears it
  start_worker(pass_everything, key_);
  events_until_end(campaign);
  expect_the_verdicts_of_three_modules(campaign);
  EXPECT_GE(metric("cupel_bus_untrusted_messages_total{plane=\"control\"}"), 1);
}

TEST_F(HostileWorkerTest, ARevokedKeyIsThrownOutOnHangup) {
  // Written where the daemon doesn't watch, so that only the signal can be the cause.
  std::filesystem::create_directory(dir_ / "elsewhere");
  std::filesystem::rename(dir_ / "trusted", dir_ / "elsewhere" / "trusted");
  std::filesystem::create_symlink(dir_ / "elsewhere" / "trusted", dir_ / "trusted");
  start();
  start_peer();
  static_cast<void>(peer_->join(1));
  ASSERT_TRUE(net::remove_trusted(dir_ / "elsewhere" / "trusted", "hostile"));
  ASSERT_EQ(get("/api/v1/workers")["workers"].size(), 1U);

  daemon_->signal(SIGHUP);

  EXPECT_EQ(peer_->await<Refuse>().code, Errc::not_trusted);
  EXPECT_TRUE(get("/api/v1/workers")["workers"].empty());
}

}  // namespace
}  // namespace cupel::coordinator
