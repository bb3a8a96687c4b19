#include "common/http/server.hpp"

#include "common/fs/files.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <thread>

namespace cupel::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

/// One connection that sends bytes as they are and reads until the other side closes.
class Wire {
 public:
  explicit Wire(const std::string& address) : socket_(io_) {
    const auto colon = address.rfind(':');
    socket_.connect({asio::ip::make_address(address.substr(0, colon)),
                     static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1)))});
  }
  void send(std::string_view bytes) {
    boost::system::error_code ignored;
    asio::write(socket_, asio::buffer(bytes), ignored);
  }
  std::string read_until(const std::string& mark) {
    boost::system::error_code ec;
    asio::read_until(socket_, asio::dynamic_buffer(all_), mark, ec);
    return all_;
  }
  std::string read_all() {
    boost::system::error_code ec;
    asio::read(socket_, asio::dynamic_buffer(all_), ec);
    return all_;
  }
  void close() { socket_.close(); }

 private:
  asio::io_context io_;
  tcp::socket socket_;
  std::string all_;
};

class CountingSink final : public UploadSink {
 public:
  asio::awaitable<Result<void>> write(std::string piece) override {
    bytes_ += piece.size();
    if (piece.find("poison") != std::string::npos) co_return Error{Errc::disk_full, "full", "", ""};
    co_return Result<void>();
  }
  asio::awaitable<Response> finish() override {
    co_return text_response(201, "text/plain", std::to_string(bytes_));
  }

 private:
  std::size_t bytes_ = 0;
};

asio::awaitable<Response> throwing(Request) {
  throw std::runtime_error("inside");
  co_return Response();
}

class ServerTest : public testing::Test {
 protected:
  void SetUp() override {
    file_ = std::filesystem::temp_directory_path() / ("cupel-http-" + fs::random_hex(8));
    std::ofstream(file_) << "0123456789";
    options_.listen = "127.0.0.1:0";
    options_.tokens.add("good-token", {"alice", {"read"}});
    options_.keep_alive_comment = std::chrono::milliseconds(20);
    options_.on_sse_clients = [this](int change) { sse_clients_ += change; };
    options_.on_request = [this](std::string_view route, unsigned status, double) {
      requests_.push_back(std::string(route) + " " + std::to_string(status));
    };
  }
  void TearDown() override {
    if (thread_.joinable()) {
      asio::post(loop_, [this] {
        server_->stop(std::chrono::milliseconds(0), [this] { guard_.reset(); });
      });
      thread_.join();
    }
    std::filesystem::remove(file_);
  }
  void start() {
    server_ = std::make_unique<Server>(loop_, options_);
    server_->route_sync("GET", "/hello/{name}", [](const Request& request) {
      return text_response(200, "text/plain",
                           std::string(request.param("name")) + std::string(request.argument("q")));
    });
    server_->route_sync(
        "POST", "/echo",
        [](const Request& request) { return text_response(200, "text/plain", request.body); },
        {.scope = "", .body_bytes_max = 1000});
    server_->route_sync("GET", "/private",
                        [](const Request& request) {
                          return text_response(200, "text/plain", request.principal.name);
                        },
                        {.scope = "read"});
    server_->route_sync("GET", "/admin", [](const Request&) { return Response(); },
                        {.scope = "operate"});
    server_->route("GET", "/throws", throwing);
    server_->route_sync("GET", "/file", [this](const Request&) {
      Response response;
      response.body = FileBody{file_};
      return response;
    });
    server_->route_sync("GET", "/events", [this](const Request& request) {
      stream_ = std::make_shared<EventStream>(loop_.get_executor());
      last_id_ = request.header("last-event-id");
      Response response;
      response.body = stream_;
      return response;
    });
    server_->route_upload(
        "POST", "/upload",
        [](const Request&) {
          return Result<std::unique_ptr<UploadSink>>(std::make_unique<CountingSink>());
        },
        1'000'000);
    const auto listening = server_->listen();
    ASSERT_TRUE(listening) << listening.error().text();
    thread_ = std::thread([this] { loop_.run(); });
  }
  std::string ask(const std::string& request) {
    Wire wire(server_->address());
    wire.send(request);
    return wire.read_all();
  }
  std::string get(const std::string& target, const std::string& headers = "") {
    return ask("GET " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + headers +
               "\r\n");
  }
  static std::string status_of_answer(const std::string& answer) { return answer.substr(9, 3); }
  static std::string body_of(const std::string& answer) {
    return answer.substr(answer.find("\r\n\r\n") + 4);
  }
  /// Runs on the loop and waits.
  void on_loop(const std::function<void()>& work) {
    std::promise<void> done;
    asio::post(loop_, [&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }

  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_ = asio::make_work_guard(loop_);
  ServerOptions options_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
  std::filesystem::path file_;
  std::shared_ptr<EventStream> stream_;
  std::string last_id_;
  int sse_clients_ = 0;
  std::vector<std::string> requests_;
};

TEST_F(ServerTest, AnswersByRoute) {
  start();
  EXPECT_EQ(body_of(get("/hello/w%20x?q=1")), "w x1");
  EXPECT_EQ(status_of_answer(get("/nothing")), "404");
  const std::string wrong_method = ask("DELETE /hello/x HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(status_of_answer(wrong_method), "405");
  EXPECT_NE(wrong_method.find("Allow: GET"), std::string::npos);
  EXPECT_EQ(status_of_answer(get("/%zz")), "400");
  on_loop([&] { EXPECT_EQ(requests_.front(), "/hello/{name} 200"); });
}

TEST_F(ServerTest, KeepsAConnectionForTheNextRequest) {
  start();
  Wire wire(server_->address());
  wire.send("GET /hello/one HTTP/1.1\r\n\r\nGET /hello/two HTTP/1.1\r\nConnection: close\r\n\r\n");
  const std::string answers = wire.read_all();
  EXPECT_NE(answers.find("one"), std::string::npos);
  EXPECT_NE(answers.find("two"), std::string::npos);
}

TEST_F(ServerTest, NeedsATokenWithTheScope) {
  start();
  EXPECT_EQ(status_of_answer(get("/private")), "401");
  EXPECT_EQ(status_of_answer(get("/private", "Authorization: Bearer bad-token\r\n")), "401");
  EXPECT_EQ(status_of_answer(get("/private", "Authorization: Basic good-token\r\n")), "401");
  EXPECT_EQ(body_of(get("/private", "Authorization: Bearer good-token\r\n")), "alice");
  EXPECT_EQ(status_of_answer(get("/admin", "Authorization: Bearer good-token\r\n")), "403");
}

TEST_F(ServerTest, BoundsHeaderAndBody) {
  start();
  EXPECT_EQ(status_of_answer(get("/hello/x", "X: " + std::string(20'000, 'x') + "\r\n")), "431");
  const auto post = [&](const std::string& body, const std::string& headers) {
    return status_of_answer(
        ask("POST /echo HTTP/1.1\r\nConnection: close\r\n" + headers + "\r\n" + body));
  };
  EXPECT_EQ(post(std::string(1000, 'x'), "Content-Length: 1000\r\n"), "200");
  EXPECT_EQ(post(std::string(1001, 'x'), "Content-Length: 1001\r\n"), "413");
  EXPECT_EQ(post("", "Content-Length: 99999999999\r\n"), "413");
  EXPECT_EQ(
      post("3e9\r\n" + std::string(1001, 'x') + "\r\n0\r\n\r\n", "Transfer-Encoding: chunked\r\n"),
      "413");
}

TEST_F(ServerTest, AnswersWhatIsNoHttpWithAnError) {
  start();
  EXPECT_EQ(status_of_answer(ask("hello there\r\n\r\n")), "400");
}

TEST_F(ServerTest, AHandlerThatThrowsIsABugOfOursAndNotTheEnd) {
  start();
  const std::string answer = get("/throws");
  EXPECT_EQ(status_of_answer(answer), "500");
  EXPECT_NE(answer.find("CUP-9999"), std::string::npos);
  EXPECT_EQ(body_of(get("/hello/still-here")), "still-here");
}

TEST_F(ServerTest, SendsFilesAndPartsOfThem) {
  start();
  EXPECT_EQ(body_of(get("/file")), "0123456789");
  const std::string part = get("/file", "Range: bytes=2-4\r\n");
  EXPECT_EQ(status_of_answer(part), "206");
  EXPECT_NE(part.find("Content-Range: bytes 2-4/10"), std::string::npos);
  EXPECT_EQ(body_of(part), "234");
  EXPECT_EQ(status_of_answer(get("/file", "Range: bytes=10-\r\n")), "416");
  const std::string head = ask("HEAD /file HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_NE(head.find("Content-Length: 10"), std::string::npos);
  EXPECT_EQ(body_of(head), "");
}

TEST_F(ServerTest, StreamsAnUploadAndEndsItWhenTheSinkFails) {
  start();
  const auto upload = [&](const std::string& body) {
    return ask("POST /upload HTTP/1.1\r\nConnection: close\r\nContent-Length: " +
               std::to_string(body.size()) + "\r\n\r\n" + body);
  };
  EXPECT_EQ(body_of(upload(std::string(900'000, 'x'))), "900000");
  EXPECT_EQ(status_of_answer(upload("poison" + std::string(200'000, 'x'))), "507");
  EXPECT_EQ(status_of_answer(upload(std::string(1'000'001, 'x'))), "413");
}

TEST_F(ServerTest, AsksForTheBodyOnlyWhenItIsWelcome) {
  start();
  Wire welcome(server_->address());
  welcome.send(
      "POST /echo HTTP/1.1\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: "
      "3\r\n\r\n");
  EXPECT_NE(welcome.read_until("\r\n\r\n").find("100 Continue"), std::string::npos);
  welcome.send("abc");
  EXPECT_NE(welcome.read_all().find("\r\n\r\nabc"), std::string::npos);

  const std::string refused =
      ask("POST /echo HTTP/1.1\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: "
          "5000\r\n\r\n");
  EXPECT_EQ(status_of_answer(refused), "413");
}

TEST_F(ServerTest, AStreamSendsEventsAndCommentsAndEnds) {
  start();
  Wire wire(server_->address());
  wire.send("GET /events HTTP/1.1\r\nLast-Event-ID: 41\r\n\r\n");
  EXPECT_NE(wire.read_until(": keep-alive").find("text/event-stream"), std::string::npos);
  on_loop([&] {
    EXPECT_EQ(last_id_, "41");
    EXPECT_EQ(sse_clients_, 1);
    asio::co_spawn(loop_, stream_->send({42, "", "{}"}), [this](std::exception_ptr, bool sent) {
      EXPECT_TRUE(sent);
      stream_->close();
    });
  });
  EXPECT_NE(wire.read_all().find("id: 42\ndata: {}\n\n"), std::string::npos);
  on_loop([&] { EXPECT_EQ(sse_clients_, 0); });
}

TEST_F(ServerTest, NoticesThatAStreamsClientIsGone) {
  start();
  std::promise<void> gone;
  Wire wire(server_->address());
  wire.send("GET /events HTTP/1.1\r\n\r\n");
  wire.read_until(": keep-alive");
  on_loop([&] { stream_->on_gone([&] { gone.set_value(); }); });

  wire.close();

  gone.get_future().wait();
  on_loop([&] { EXPECT_TRUE(stream_->closed()); });
}

TEST_F(ServerTest, CutsOffWhoSendsItsHeaderTooSlowly) {
  options_.header_timeout = std::chrono::milliseconds(50);
  start();
  Wire wire(server_->address());
  wire.send("GET /hel");
  EXPECT_EQ(wire.read_all(), "");
}

TEST_F(ServerTest, TakesNoMoreConnectionsThanItsLimit) {
  options_.connections_max = 1;
  start();
  Wire first(server_->address());
  first.send("GET /hello/first HTTP/1.1\r\n\r\n");
  first.read_until("first");

  EXPECT_EQ(status_of_answer(get("/hello/second")), "503");
}

TEST_F(ServerTest, SaysWhoseAddressItIsWhenItIsTaken) {
  start();
  ServerOptions same;
  same.listen = server_->address();
  asio::io_context other;
  Server second(other, same);

  const auto refused = second.listen();

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::already_exists);
  EXPECT_NE(refused.error().what.find(server_->address()), std::string::npos);
}

TEST(ServerAddress, MustBeAnAddressAndAPort) {
  asio::io_context loop;
  for (const char* listen :
       {"", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "nowhere:80", ":80"}) {
    ServerOptions options;
    options.listen = listen;
    const auto refused = Server(loop, options).listen();
    ASSERT_FALSE(refused) << listen;
    EXPECT_EQ(refused.error().code, Errc::bad_config) << listen;
  }
}

}  // namespace
}  // namespace cupel::http
