// The API of the real daemon where people and tools touch it: errors with their places, byte
// ranges, drain, metrics, retention.
#include "tests/unit/coordinator_app/daemon_fixture.hpp"
#include "tests/unit/coordinator_app/hostile_peer.hpp"

#include <arpa/inet.h>
#include <array>
#include <cstdio>
#include <fstream>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cupel::coordinator {
namespace {

class ApiTest : public DaemonTest {
 protected:
  struct Answer {
    int status = 0;
    std::string headers;
    std::string body;
  };
  /// One request, byte for byte, on a connection of its own.
  Answer http(const std::string& method, const std::string& target, const std::string& headers = "",
              const std::string& body = "") {
    const std::string address = daemon_->ready()["http"].get<std::string>();
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    const std::string request =
        method + " " + target + " HTTP/1.1\r\nHost: " + address +
        "\r\nConnection: close\r\nAuthorization: Bearer " + daemon_->token() +
        "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body;
    EXPECT_EQ(::send(fd, request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    std::string all;
    std::array<char, 4096> piece{};
    for (ssize_t n = 0; (n = ::read(fd, piece.data(), piece.size())) > 0;)
      all.append(piece.data(), static_cast<std::size_t>(n));
    ::close(fd);
    Answer answer;
    const auto end = all.find("\r\n\r\n");
    EXPECT_GE(all.size(), 12U) << all;
    if (end == std::string::npos) return answer;
    answer.status = std::stoi(all.substr(9, 3));
    answer.headers = all.substr(0, end);
    answer.body = all.substr(end + 4);
    return answer;
  }
  /// A finished campaign whose one log has these bytes; the target of the log.
  std::string a_kept_log(const std::string& bytes) {
    HostilePeer peer(daemon_->ready(), key_, WorkerId{5});
    const Welcome welcome = peer.join(1);
    submit(
        "apiVersion: cupel/v1\nkind: Campaign\nname: one\nrepositories:\n"
        "  - module: example.com/one@v1.0.0\n");
    const auto lease = peer.await<Lease>();
    EXPECT_FALSE(peer.put(welcome.session, {lease.spec.id, lease.token}, sha256(bytes), bytes));
    TaskResult result = *pass_everything(lease);
    result.logs.push_back({.check = CheckKind::custom,
                           .name = "acquire",
                           .stream = Stream::out,
                           .artifact = sha256(bytes),
                           .bytes = bytes.size(),
                           .truncated = true});
    peer.tell(ResultMessage{result});
    EXPECT_TRUE(peer.await<ResultAck>().accepted);
    return "/api/v1/tasks/" + lease.spec.id.text() + "/log?check=custom&stream=stdout";
  }
};

TEST_F(ApiTest, ABrokenCampaignIsAnsweredWithLineAndColumn) {
  start();

  const Answer answer = http("POST", "/api/v1/campaigns", "Content-Type: application/yaml\r\n",
                             std::string(kCampaign) + "priority: much\nbogus: 1\n");

  EXPECT_EQ(answer.status, 400) << answer.body;
  EXPECT_NE(answer.headers.find("application/problem+json"), std::string::npos) << answer.headers;
  const json problem = json::parse(answer.body, nullptr, false);
  ASSERT_TRUE(problem.is_object()) << answer.body;
  ASSERT_EQ(problem["errors"].size(), 2U) << answer.body;
  std::map<int, json> by_line;
  for (const json& error : problem["errors"]) by_line[error["line"].get<int>()] = error;
  ASSERT_TRUE(by_line.contains(8) && by_line.contains(9)) << answer.body;
  EXPECT_EQ(by_line[8]["column"], 11);
  EXPECT_EQ(by_line[9]["column"], 1);
  EXPECT_EQ(get("/api/v1/campaigns")["campaigns"].size(), 0U);
}

TEST_F(ApiTest, LogsAreServedInByteRanges) {
  trust(key_);
  start();
  const std::string bytes = "0123456789";
  const std::string log = a_kept_log(bytes);

  const Answer whole = http("GET", log);
  EXPECT_EQ(whole.status, 200);
  EXPECT_EQ(whole.body, bytes);
  EXPECT_NE(whole.headers.find("X-Cupel-Log-State: truncated"), std::string::npos);
  const Answer part = http("GET", log, "Range: bytes=2-4\r\n");
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "234");
  EXPECT_NE(part.headers.find("Content-Range: bytes 2-4/10"), std::string::npos) << part.headers;
  const Answer suffix = http("GET", log, "Range: bytes=-3\r\n");
  EXPECT_EQ(suffix.status, 206);
  EXPECT_EQ(suffix.body, "789");
  const Answer open = http("GET", log, "Range: bytes=8-\r\n");
  EXPECT_EQ(open.status, 206);
  EXPECT_EQ(open.body, "89");
  const Answer long_suffix = http("GET", log, "Range: bytes=-100\r\n");
  EXPECT_EQ(long_suffix.body, bytes);
  for (const char* beyond : {"bytes=10-", "bytes=99-100", "bytes=-0"}) {
    const Answer none = http("GET", log, "Range: " + std::string(beyond) + "\r\n");
    EXPECT_EQ(none.status, 416) << beyond;
    EXPECT_NE(none.headers.find("Content-Range: bytes */10"), std::string::npos) << none.headers;
  }
  for (const char* odd : {"bytes=5-2", "lines=1-2", "bytes=a-b", "bytes=0-1,4-5"}) {
    EXPECT_EQ(http("GET", log, "Range: " + std::string(odd) + "\r\n").status, 200) << odd;
  }
  EXPECT_EQ(http("GET", log.substr(0, log.find('?')) + "?check=odd").status, 400);
}

/// Runs a program of this machine to its end.
struct Ended {
  int status = -1;
  std::string out;
};
Ended run_program(const std::string& command) {
  Ended ended;
  FILE* const pipe = ::popen((command + " 2>&1").c_str(), "re");
  if (pipe == nullptr) return ended;
  std::array<char, 4096> piece{};
  for (std::size_t n = 0; (n = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;)
    ended.out.append(piece.data(), n);
  const int status = ::pclose(pipe);
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

TEST_F(ApiTest, AWorkerIsDrainedOverHttpAndByTheClient) {
  trust(key_);
  start();
  HostilePeer peer(daemon_->ready(), key_, WorkerId{5});
  static_cast<void>(peer.join(1));
  const std::string worker = WorkerId{5}.text();

  const auto drained = client().post("/api/v1/workers/" + worker + "/drain", "");
  ASSERT_TRUE(drained) << drained.error().text();
  EXPECT_TRUE(peer.await<Drain>().on);
  EXPECT_EQ(get("/api/v1/workers")["workers"][0]["state"], "draining");
  const auto unknown = client().post("/api/v1/workers/" + WorkerId{6}.text() + "/drain", "");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::not_found);

  const std::string cupel = std::string(CUPEL_BINARY_DIR "/bin/cupel") + " --server http://" +
                            daemon_->ready()["http"].get<std::string>() + " --token-file " +
                            (dir_ / "data" / "token").string() + " worker ";
  const Ended undrain = run_program(cupel + "undrain " + worker);
  EXPECT_EQ(undrain.status, 0) << undrain.out;
  while (peer.await<Drain>().on) {
  }
  const Ended drain = run_program(cupel + "drain " + worker);
  EXPECT_EQ(drain.status, 0) << drain.out;
  while (!peer.await<Drain>().on) {
  }
  EXPECT_EQ(run_program(cupel + "drain " + WorkerId{6}.text()).status, 9);
}

TEST_F(ApiTest, PromtoolFindsNothingToSayAboutTheMetrics) {
  trust(key_);
  start();
  start_worker(pass_everything, key_);
  events_until_end(submit());

  const auto scraped = client().send("GET", "/metrics");

  ASSERT_TRUE(scraped);
  std::ofstream(dir_ / "metrics.txt") << scraped->body;
  const Ended checked = run_program("promtool check metrics < " + (dir_ / "metrics.txt").string());
  EXPECT_EQ(checked.status, 0) << "promtool (Debian package prometheus):\n" << checked.out;
  EXPECT_EQ(checked.out, "");
  EXPECT_EQ(scraped->body.find("revision=\"unknown\""), std::string::npos);
  EXPECT_EQ(scraped->body.find("revision=\"\""), std::string::npos);
  EXPECT_GT(metric("cupel_db_calls_total{op=\"read\"}"), 0);
  EXPECT_GT(metric("cupel_db_call_duration_seconds_count{op=\"read\"}"), 0);
}

TEST_F(ApiTest, EveryLabelSetIsBornAtZero) {
  start();
  const auto first = client().send("GET", "/metrics");
  ASSERT_TRUE(first);
  trust(key_);
  start_worker(pass_everything, key_);
  events_until_end(submit());
  const auto later = client().send("GET", "/metrics");
  ASSERT_TRUE(later);

  const auto names = [](const std::string& text) {
    std::set<std::string> all;
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, end - at);
      if (!line.empty() && line[0] != '#') all.insert(line.substr(0, line.rfind(' ')));
      at = end + 1;
    }
    return all;
  };
  EXPECT_EQ(names(later->body), names(first->body)) << "a series was born late";
}

TEST_F(ApiTest, OldEventsAndArtifactsGoByThemselves) {
  trust(key_);
  start({"--keep-events=1ms", "--keep-artifacts=1ms", "--retention-period=100ms"});
  start_worker(pass_everything, key_);
  const std::string campaign = submit();
  events_until_end(campaign);

  const auto removed = [this] { return metric("cupel_retention_removed_total{what=\"events\"}"); };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (removed() < 5 && std::chrono::steady_clock::now() < until) {
  }

  EXPECT_GE(removed(), 5);
  EXPECT_GT(metric("cupel_retention_last_success_timestamp_seconds{what=\"artifacts\"}"), 0);
  EXPECT_EQ(metric("cupel_retention_failures_total{what=\"events\"}"), 0);
  expect_the_verdicts_of_three_modules(campaign);
}

}  // namespace
}  // namespace cupel::coordinator
