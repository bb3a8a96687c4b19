#include "common/httpclient/client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <arpa/inet.h>
#include <chrono>
#include <deque>
#include <fstream>
#include <functional>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace cupel::httpclient {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

/// Answers each connection with the next of its scripts and remembers what it was asked.
class FakeServer {
 public:
  struct Script {
    std::string answer;
    bool hang = false;  ///< Keeps the connection open after the answer, until the server ends.
  };

  explicit FakeServer(std::deque<Script> scripts)
      : scripts_(std::move(scripts)), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    socklen_t size = sizeof address;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    EXPECT_EQ(listen(listener_, 16), 0);
    thread_ = std::thread([this] { serve(); });
  }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;
  ~FakeServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    for (const int fd : open_) close(fd);
    close(listener_);
  }

  [[nodiscard]] Options options() const {
    Options options;
    options.base_url = "http://127.0.0.1:" + std::to_string(port_);
    options.token = "s3cret";
    options.connect = 5s;
    options.idle = 5s;
    return options;
  }
  /// After the client has its answers.
  [[nodiscard]] const std::vector<std::string>& requests() const { return requests_; }

 private:
  void serve() {
    while (!scripts_.empty()) {
      const int fd = accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      requests_.push_back(read_request(fd));
      const Script script = scripts_.front();
      scripts_.pop_front();
      (void)!write(fd, script.answer.data(), script.answer.size());
      if (script.hang) {
        open_.push_back(fd);
      } else {
        close(fd);
      }
    }
  }
  static std::string read_request(int fd) {
    std::string text;
    std::string piece(4096, '\0');
    while (true) {
      const std::size_t head = text.find("\r\n\r\n");
      if (head != std::string::npos) {
        const std::size_t length = text.find("Content-Length: ");
        const std::size_t body =
            length == std::string::npos ? 0 : std::stoul(text.substr(length + 16));
        if (text.size() >= head + 4 + body) return text;
      }
      const ssize_t got = read(fd, piece.data(), piece.size());
      if (got <= 0) return text;
      text.append(piece, 0, static_cast<std::size_t>(got));
    }
  }

  std::deque<Script> scripts_;
  std::vector<std::string> requests_;
  std::vector<int> open_;
  int listener_;
  int port_ = 0;
  std::thread thread_;
};

std::string ok(const std::string& body, const std::string& type = "application/json") {
  return "HTTP/1.1 200 OK\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" +
         body;
}

std::string chunked(const std::string& body) {
  char size[16];
  std::snprintf(size, sizeof size, "%zx", body.size());
  return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: "
         "chunked\r\n\r\n" +
         std::string(size) + "\r\n" + body + "\r\n";
}

TEST(HttpClient, SendsTokenAndBodyAndReadsJson) {
  FakeServer server({{ok(R"({"id":"c-1"})")}});
  Client client(server.options());

  const auto answer =
      client.post("/api/v1/campaigns", "{}", "application/json", {{"Idempotency-Key", "k"}});

  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ((*answer)["id"], "c-1");
  EXPECT_THAT(server.requests()[0], HasSubstr("POST /api/v1/campaigns HTTP/1.1\r\n"));
  EXPECT_THAT(server.requests()[0], HasSubstr("Authorization: Bearer s3cret\r\n"));
  EXPECT_THAT(server.requests()[0], HasSubstr("Idempotency-Key: k\r\n"));
  EXPECT_THAT(server.requests()[0], HasSubstr("\r\n\r\n{}"));
}

TEST(HttpClient, AProblemBecomesAnError) {
  FakeServer server(
      {{"HTTP/1.1 403 Forbidden\r\nContent-Length: "
        "44\r\n\r\n{\"code\":\"CUP-5003\",\"detail\":\"scope missing\"}"}});
  Client client(server.options());

  const auto answer = client.get("/x");

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::forbidden);
  EXPECT_EQ(answer.error().what, "scope missing");
  EXPECT_EQ(answer.error().text().find("s3cret"), std::string::npos);
}

TEST(HttpClient, ASilentServerIsGivenUpAfterItsTimeLimit) {
  FakeServer server({{"", true}});
  Options options = server.options();
  options.idle = 50ms;
  Client client(options);
  const auto began = std::chrono::steady_clock::now();

  const auto answer = client.get("/x");

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::coordinator_unreachable);
  EXPECT_GE(std::chrono::steady_clock::now() - began, 50ms);
}

TEST(HttpClient, NobodyListeningIsUnreachable) {
  Options options;
  options.base_url = "http://127.0.0.1:1";
  const auto answer = Client(options).get("/x");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::coordinator_unreachable);
}

TEST(HttpClient, WhatIsNoJsonIsNoCoordinator) {
  FakeServer server({{ok("<html>", "text/html")}});
  const auto answer = Client(server.options()).get("/x");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::protocol_mismatch);
}

TEST(HttpClient, AnAnswerOverTheLimitIsCut) {
  FakeServer server({{ok(std::string(2000, 'x'))}});
  Options options = server.options();
  options.body_bytes_max = 1000;
  const auto answer = Client(options).send("GET", "/x");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::too_large);
}

TEST(HttpClient, UploadsAFileWithItsHeaders) {
  const std::string file = testing::TempDir() + "cupel-upload-" + std::to_string(getpid());
  const std::string content(300'000, 'b');
  std::ofstream(file, std::ios::binary) << content;
  FakeServer server({{ok(R"({"bytes":300000})")}});

  const auto answer =
      Client(server.options()).upload("/api/v1/artifacts", file, {{"X-Cupel-Digest", "sha256:00"}});

  unlink(file.c_str());
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_THAT(server.requests()[0], HasSubstr("X-Cupel-Digest: sha256:00\r\n"));
  EXPECT_TRUE(server.requests()[0].ends_with("\r\n\r\n" + content));
}

TEST(HttpClient, DownloadsFromAnOffset) {
  FakeServer server({{"HTTP/1.1 206 Partial Content\r\nContent-Length: 3\r\n\r\ndef"},
                     {ok("abcdef")},
                     {"HTTP/1.1 416 Range\r\nContent-Length: 0\r\n\r\n"}});
  Client client(server.options());
  std::string bytes;
  const BodySink sink = [&bytes](std::string_view piece) {
    bytes += piece;
    return true;
  };

  ASSERT_TRUE(client.download("/log", 3, sink));
  EXPECT_EQ(bytes, "def");
  EXPECT_THAT(server.requests()[0], HasSubstr("Range: bytes=3-\r\n"));
  ASSERT_TRUE(client.download("/log", 4, sink)) << "a server without ranges";
  EXPECT_EQ(bytes, "defef");
  EXPECT_TRUE(client.download("/log", 6, sink)) << "nothing beyond the end";
}

TEST(HttpClient, EventsResumeWhereACutLeftThem) {
  FakeServer server({{chunked("id: 1\ndata: a\n\nid: 2\ndata: b\n\nid: 3\ndata: hal")},
                     {"HTTP/1.1 503 Starting\r\nContent-Length: 0\r\n\r\n"},
                     {chunked("id: 3\ndata: c\n\n") + "0\r\n\r\n"}});
  Client client(server.options());
  std::string seen;

  const auto result = client.events("/events", "0", [&seen](const Event& event) {
    seen += event.id + event.data + " ";
    return event.data != "c";
  });

  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(seen, "1a 2b 3c ");
  EXPECT_THAT(server.requests()[0], HasSubstr("Last-Event-ID: 0\r\n"));
  EXPECT_THAT(server.requests()[2], HasSubstr("Last-Event-ID: 2\r\n"));
}

TEST(HttpClient, AnUnknownStreamIsNotTriedAgain) {
  FakeServer server({{"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"}});
  const auto result =
      Client(server.options()).events("/events", "", [](const Event&) { return true; });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::not_found);
}

TEST(HttpClient, TheInterruptEndsAWaitAtOnce) {
  FakeServer server({{chunked("id: 1\ndata: a\n\n"), true}});
  Options options = server.options();
  options.interrupt_fd = eventfd(0, EFD_CLOEXEC);
  Client client(options);

  const auto result = client.events("/events", "", [&options](const Event&) {
    const std::uint64_t one = 1;
    return write(options.interrupt_fd, &one, sizeof one) == sizeof one;
  });

  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::cancelled);
  EXPECT_TRUE(client.pause(1h)) << "still readable";
  close(options.interrupt_fd);
}

}  // namespace
}  // namespace cupel::httpclient
