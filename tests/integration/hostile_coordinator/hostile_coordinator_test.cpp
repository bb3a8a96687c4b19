// The real worker under a coordinator that is not ours. It refuses with a reason, goes on, and lets
// no container be made that its own profiles don't describe.
#include "common/core/json.hpp"
#include "common/fs/files.hpp"
#include "common/httpclient/client.hpp"
#include "tests/integration/hostile_coordinator/fake_coordinator.hpp"
#include "tests/integration/sandbox/engine_between.hpp"
#include "tests/unit/coordinator_app/daemon_process.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cupel::test {
namespace {

constexpr const char* kEngine = "/var/run/docker.sock";

class HostileCoordinatorTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::temp_directory_path() / ("cupel-hostile-" + fs::random_hex(8));
    std::filesystem::create_directory(dir_);
    ASSERT_TRUE(net::write_key_file(dir_ / "key", key_, "test"));
    EngineBetween::Rules rules;
    rules.seen = [this](const std::string& bytes) {
      if (bytes.find("/containers/create") != std::string::npos) ++creates_;
    };
    engine_ = std::make_unique<EngineBetween>(io_, (dir_ / "engine.sock").string(), kEngine,
                                              std::move(rules));
    engine_thread_ = std::thread([this] {
      const auto guard = boost::asio::make_work_guard(io_);
      io_.run();
    });
    coordinator_ = std::make_unique<FakeCoordinator>(key_.public_key);
  }
  void TearDown() override {
    worker_.reset();
    coordinator_.reset();
    io_.stop();
    engine_thread_.join();
    engine_.reset();
    std::error_code ec;
    std::filesystem::remove_all(dir_, ec);
  }
  void start(const std::vector<std::string>& extra = {}) {
    std::vector<std::string> arguments = {"--data-dir=" + (dir_ / "data").string(),
                                          "--name=victim",
                                          "--coordinator-control=" + coordinator_->control(),
                                          "--coordinator-bulk=" + coordinator_->bulk(),
                                          "--coordinator-key=" + coordinator_->key().z85(),
                                          "--key-file=" + (dir_ / "key").string(),
                                          "--slots=2",
                                          "--disk-reserve=1MiB",
                                          "--inode-reserve=1",
                                          "--engine-socket=" + (dir_ / "engine.sock").string(),
                                          "--metrics-listen=127.0.0.1:0",
                                          "--ready-file=" + (dir_ / "ready.json").string()};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    worker_ = std::make_unique<coordinator::DaemonProcess>(dir_, "cupel-worker", arguments);
  }
  void start_ready(const std::vector<std::string>& extra = {}) {
    start(extra);
    ASSERT_TRUE(worker_->wait_until_ready()) << worker_->log();
    creates_at_ready_ = creates_;
    EXPECT_GE(creates_at_ready_, 1) << "the mount probe goes through the engine between";
  }
  void expect_alive_and_idle() {
    TaskSpec spec;
    spec.work = NoOp{};
    EXPECT_EQ(coordinator_->result_of(coordinator_->lease(spec)).outcome, Outcome::passing);
    EXPECT_EQ(creates_, creates_at_ready_ + 1) << "not the probe's container alone";
    creates_at_ready_ = creates_;
  }
  double metric(const std::string& sample) {
    httpclient::Options options;
    options.base_url = "http://" + worker_->ready()["metrics"].get<std::string>();
    const auto scraped = httpclient::Client(options).send("GET", "/metrics");
    EXPECT_TRUE(scraped);
    if (!scraped) return -1;
    const std::string text = "\n" + scraped->body;
    const auto at = text.find("\n" + sample + " ");
    EXPECT_NE(at, std::string::npos) << sample;
    return at == std::string::npos ? -1 : std::stod(text.substr(at + sample.size() + 2));
  }
  static TaskSpec source(Source from, std::vector<std::string> subdirs = {}) {
    TaskSpec spec;
    spec.kind = TaskKind::acquire;
    spec.campaign = CampaignId{1};
    spec.repository = RepositoryId{2};
    spec.work = AcquireSource{std::move(from), "", std::move(subdirs)};
    return spec;
  }
  static TaskSpec execute() {
    TaskSpec spec;
    spec.kind = TaskKind::execute;
    spec.campaign = CampaignId{1};
    spec.repository = RepositoryId{2};
    spec.unit = UnitId{3};
    Execute work;
    work.commit = std::string(40, 'a');
    work.unit.dir = ".";
    work.unit.module_path = "example.com/m";
    work.unit.vendored = true;
    spec.work = work;
    return spec;
  }
  TaskResult answer(TaskSpec spec) { return coordinator_->result_of(coordinator_->lease(spec)); }

  std::filesystem::path dir_;
  const net::KeyPair key_ = net::generate_key_pair();
  boost::asio::io_context io_{1};
  std::atomic<int> creates_{0};
  int creates_at_ready_ = 0;
  std::unique_ptr<EngineBetween> engine_;
  std::thread engine_thread_;
  std::unique_ptr<FakeCoordinator> coordinator_;
  std::unique_ptr<coordinator::DaemonProcess> worker_;
};

TEST_F(HostileCoordinatorTest, SourcesThatAWorkerMayNotFetchAreRefused) {
  start_ready();
  for (const char* url :
       {"file:///etc", "/etc/passwd", "ext::sh -c 'touch /tmp/x'", "http://127.0.0.1/a",
        "https://localhost/a", "https://[::1]/a", "https://169.254.169.254/latest",
        "https://0x7f000001/a", "git://example.com/a", "--upload-pack=/bin/sh",
        "https://user:secret@example.com/a", ""}) {
    const TaskResult result = answer(source(GitSource{url, "main"}));
    EXPECT_EQ(result.outcome, Outcome::refused) << url;
    EXPECT_EQ(result.reason, Reason::source_not_allowed) << url;
    EXPECT_FALSE(result.message.empty());
    EXPECT_EQ(result.message.find("secret"), std::string::npos);
  }
  for (const char* ref : {"--output=/etc/x", "a\nb"}) {
    EXPECT_EQ(answer(source(GitSource{"https://example.com/a", ref})).outcome, Outcome::refused);
  }
  EXPECT_EQ(answer(source(ModuleSource{"-modfile=/etc/passwd", "v1"})).outcome, Outcome::refused);
  EXPECT_EQ(answer(source(ModuleSource{"example.com/a b", "v1"})).outcome, Outcome::refused);
  expect_alive_and_idle();
}

TEST_F(HostileCoordinatorTest, TasksOutsideTheProfilesAreRefused) {
  start_ready();
  using Change = std::function<void(TaskSpec&)>;
  const auto work = [](TaskSpec& spec) -> Execute& { return std::get<Execute>(spec.work); };
  const std::vector<Change> changes = {
      [](TaskSpec& s) { s.settings.limits = {0, 0, 0, 0, 0}; },
      [](TaskSpec& s) { s.settings.limits.memory_bytes = 0; },
      [](TaskSpec& s) { s.settings.limits.pids = 0; },
      [](TaskSpec& s) { s.settings.packages = {"-toolexec=/bin/sh"}; },
      [](TaskSpec& s) { s.settings.packages.assign(1000, "-x"); },
      [](TaskSpec& s) { s.settings.tags = {"a\nb"}; },
      [](TaskSpec& s) { s.settings.custom = {{"../../x", {"sh"}, 1}}; },
      [](TaskSpec& s) { s.settings.custom = {{"x", {}, 1}}; },
      [](TaskSpec& s) { s.settings.go_private = "x\nGOFLAGS=-mod=mod"; },
      [](TaskSpec& s) { s.settings.image = "evil; image"; },
      [&](TaskSpec& s) { work(s).unit.dir = "../../../etc"; },
      [&](TaskSpec& s) { work(s).unit.workspace = "/etc/go.work"; },
      [&](TaskSpec& s) { work(s).image = "--privileged"; },
      [](TaskSpec& s) { s.kind = TaskKind::acquire; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    TaskSpec spec = execute();
    changes[i](spec);
    const TaskResult result = answer(spec);
    EXPECT_EQ(result.outcome, Outcome::refused) << "change " << i << ": " << result.message;
    EXPECT_FALSE(result.message.empty());
  }
  EXPECT_EQ(answer(source(GitSource{"https://example.com/a", "main"}, {"../.."})).outcome,
            Outcome::refused);
  expect_alive_and_idle();
}

TEST_F(HostileCoordinatorTest, ImagesOutsideTheTableAndAbsurdNumbersRunNothing) {
  start_ready();
  for (const std::string& image : {std::string("1.99"), "sha256:" + std::string(64, '0'),
                                   "registry.example.com/evil@sha256:" + std::string(64, 'f')}) {
    TaskSpec spec = execute();
    spec.kind = TaskKind::acquire;
    AcquireModules work;
    work.commit = std::string(40, 'a');
    work.unit = std::get<Execute>(execute().work).unit;
    spec.work = work;
    spec.settings.image = image;
    const TaskResult result = answer(spec);
    EXPECT_NE(result.outcome, Outcome::passing) << image;
    EXPECT_EQ(result.reason, Reason::image_missing) << image << result.message;
  }
  TaskSpec absurd = execute();
  absurd.settings.limits = {UINT32_MAX, UINT64_MAX, UINT32_MAX, UINT64_MAX, UINT64_MAX};
  absurd.settings.test.timeout_s = UINT64_MAX;
  absurd.settings.test.count = UINT32_MAX;
  absurd.settings.check_limit_s = UINT64_MAX;
  absurd.settings.acquire_limit_s = UINT64_MAX;
  absurd.settings.custom.assign(500, {"x", {"true"}, UINT64_MAX});
  EXPECT_EQ(answer(absurd).ending, Ending::lost_workspace);
  absurd.campaign = CampaignId{UINT64_MAX};
  absurd.repository = RepositoryId{UINT64_MAX};
  absurd.unit = UnitId{UINT64_MAX};
  EXPECT_EQ(answer(absurd).ending, Ending::lost_workspace);
  expect_alive_and_idle();
}

TEST_F(HostileCoordinatorTest, MoreLeasesThanSlotsAndMessagesAtRandomStopNothing) {
  start_ready();
  std::vector<LiveLease> leases;
  for (int i = 0; i < 500; ++i) {
    leases.push_back(coordinator_->lease(source(GitSource{"file:///etc", ""})));
    if (i % 5 == 0) coordinator_->tell(CancelTask{{TaskId{9}, Token{7}}});
    if (i % 7 == 0) coordinator_->tell(Welcome{});
    if (i % 11 == 0) coordinator_->tell(HeartbeatAck{{}, {{TaskId{1}, Token{1}}}, UINT64_MAX});
    if (i % 13 == 0) coordinator_->tell(ResultAck{{TaskId{1}, Token{1}}, true});
    if (i % 17 == 0) coordinator_->tell(Refuse{Errc::retry_later, "no", UINT32_MAX});
    if (i % 19 == 0) coordinator_->raw(std::string(static_cast<std::size_t>(i), '\xff'));
  }
  for (const LiveLease& lease : leases) {
    EXPECT_NE(coordinator_->result_of(lease).outcome, Outcome::passing);
  }
  coordinator_->tell(Drain{true, UINT32_MAX});
  coordinator_->wait_for_heartbeat([](const Heartbeat& beat) { return beat.capacity.draining; });
  coordinator_->tell(Drain{false, 0});
  expect_alive_and_idle();
  EXPECT_GE(metric("cupel_bus_decode_failures_total{plane=\"control\"}"), 26);
}

TEST_F(HostileCoordinatorTest, LeasesWithFlippedBytesStopNothing) {
  start_ready();
  TaskSpec spec = execute();
  spec.settings.limits.pids = 0;  // refused, should it survive the flip
  spec.settings.packages = {"-x"};
  const std::string honest = coordinator_->lease_bytes(spec);
  for (std::size_t at = 0; at < honest.size(); at += 3) {
    std::string bytes = honest;
    bytes[at] = static_cast<char>(~bytes[at]);
    coordinator_->raw(std::move(bytes));
  }
  expect_alive_and_idle();
}

TEST_F(HostileCoordinatorTest, LiesOnTheBulkPlaneEndTheTaskAndNothingElse) {
  start_ready();
  const std::string truth = "the pack that was promised";
  const Digest digest = sha256(truth);
  using Answers = std::vector<BulkToWorker>;
  const std::vector<std::function<Answers(const GetBegin&)>> lies = {
      [](const GetBegin& get) { return Answers{GetChunk{get.transfer, 0, 5, "wrong"}}; },
      [](const GetBegin& get) { return Answers{GetChunk{get.transfer, 0, UINT64_MAX, "x"}}; },
      [](const GetBegin& get) { return Answers{GetChunk{get.transfer, 0, 2, "more than two"}}; },
      [](const GetBegin& get) { return Answers{GetChunk{get.transfer, 0, 10, ""}}; },
      [](const GetBegin& get) {
        return Answers{GetChunk{get.transfer, 0, 10, "12345"}, GetChunk{get.transfer, 5, 11, "6"}};
      },
      [](const GetBegin& get) { return Answers{BulkRefuse{get.transfer, Errc::not_found, "no"}}; },
      [](const GetBegin& get) {
        return Answers{PutDone{get.transfer}, PutReady{get.transfer, UINT64_MAX, UINT32_MAX, true},
                       GetChunk{get.transfer + 1, 0, 1, "x"},
                       GetChunk{get.transfer, 0, 5, "wrong"}};
      },
  };
  for (std::size_t i = 0; i < lies.size(); ++i) {
    coordinator_->answer_bulk([&lies, i](const BulkToCoordinator& message) {
      const auto* get = std::get_if<GetBegin>(&message);
      return get == nullptr ? Answers{} : lies[i](*get);
    });
    const TaskResult result = answer(source(BundleSource{digest, std::string(40, 'a'), "x"}));
    EXPECT_EQ(result.ending, Ending::interrupted) << "lie " << i;
    EXPECT_FALSE(result.message.empty()) << "lie " << i;
  }
  // The right bytes of something that is no pack.
  coordinator_->answer_bulk([&](const BulkToCoordinator& message) {
    const auto* get = std::get_if<GetBegin>(&message);
    return get == nullptr ? Answers{} : Answers{GetChunk{get->transfer, 0, truth.size(), truth}};
  });
  const TaskResult no_pack = answer(source(BundleSource{digest, std::string(40, 'a'), "x"}));
  EXPECT_EQ(no_pack.outcome, Outcome::refused) << no_pack.message;
  EXPECT_EQ(no_pack.reason, Reason::malformed_tree) << no_pack.message;
  coordinator_->raw_bulk(std::string(4096, '\xff'));
  expect_alive_and_idle();
}

TEST_F(HostileCoordinatorTest, PromtoolFindsNothingToSayAboutTheWorkersMetrics) {
  start_ready();
  expect_alive_and_idle();
  httpclient::Options options;
  options.base_url = "http://" + worker_->ready()["metrics"].get<std::string>();
  const auto scraped = httpclient::Client(options).send("GET", "/metrics");
  ASSERT_TRUE(scraped);
  const std::string file = (dir_ / "metrics.txt").string();
  ASSERT_TRUE(fs::write_file_durably(file, scraped->body, 0600));

  const int checked = std::system(("promtool check metrics < " + file).c_str());

  EXPECT_EQ(checked, 0) << "promtool (Debian package prometheus)";
  EXPECT_EQ(scraped->body.find("revision=\"\""), std::string::npos);
  EXPECT_EQ(scraped->body.find("revision=\"unknown\""), std::string::npos);
  EXPECT_GT(metric("cupel_log_messages_total{level=\"info\"}"), 0);
}

TEST_F(HostileCoordinatorTest, ACoordinatorOfAnotherProtocolIsLeft) {
  coordinator_->change_welcome([](Welcome& welcome) { welcome.protocol = 99; });
  start();

  EXPECT_EQ(worker_->wait_for_end(), error_info(Errc::protocol_mismatch).exit_code);
  EXPECT_EQ(creates_, 0);
}

/// A TCP port that takes connections and says nothing.
class SilentServer {
 public:
  SilentServer() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(fd_, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
        ::listen(fd_, 8) != 0 ||
        ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      std::abort();
    }
    authority_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;
  ~SilentServer() { ::close(fd_); }
  void wait_for_a_client() const {
    const int client = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    static_cast<void>(client);  // open until this process ends
  }
  [[nodiscard]] const std::string& authority() const { return authority_; }

 private:
  int fd_;
  std::string authority_;
};

TEST_F(HostileCoordinatorTest, TermDrainsAndASecondTermStopsAtOnce) {
  const SilentServer server;
  start_ready({"--allowed-sources=" + server.authority()});
  const LiveLease lease =
      coordinator_->lease(source(GitSource{"https://" + server.authority() + "/a", "main"}));
  server.wait_for_a_client();

  worker_->signal(SIGTERM);

  const Heartbeat draining = coordinator_->wait_for_heartbeat(
      [](const Heartbeat& beat) { return beat.capacity.draining; });
  EXPECT_EQ(draining.renew, std::vector<LiveLease>{lease}) << "what runs goes on";
  const LiveLease late = coordinator_->lease(source(GitSource{"file:///etc", ""}));
  EXPECT_EQ(coordinator_->result_of(late).ending, Ending::interrupted) << "nothing new begins";
  worker_->signal(SIGTERM);
  EXPECT_EQ(worker_->wait_for_end(), error_info(Errc::cancelled).exit_code);
}

TEST_F(HostileCoordinatorTest, TermOfAnIdleWorkerEndsWell) {
  start_ready();

  worker_->signal(SIGTERM);

  EXPECT_EQ(worker_->wait_for_end(), 0) << worker_->log();
}

}  // namespace
}  // namespace cupel::test
