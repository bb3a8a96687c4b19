#include "common/curl/http_fetch.hpp"

#include "common/http/server.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <thread>

namespace cupel::curl {
namespace {

class HttpFetchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("no_proxy", "127.0.0.1", 1);
    http::ServerOptions options;
    options.listen = "127.0.0.1:0";
    server_.emplace(loop_, std::move(options));
    const auto text = [](unsigned status, std::string body) {
      return [status, body](const http::Request&) {
        return http::text_response(status, "text/plain", body);
      };
    };
    server_->route_sync("GET", "/ten", text(200, "0123456789"));
    server_->route_sync("GET", "/gone", text(410, "no such version"));
    server_->route_sync("GET", "/away", [](const http::Request&) {
      http::Response response = http::text_response(302, "text/plain", "");
      response.headers.emplace_back("Location", "/ten");
      return response;
    });
    server_->route_sync("GET", "/file", [](const http::Request&) {
      http::Response response = http::text_response(302, "text/plain", "");
      response.headers.emplace_back("Location", "file:///etc/hostname");
      return response;
    });
    server_->route_sync("GET", "/round", [](const http::Request&) {
      http::Response response = http::text_response(302, "text/plain", "");
      response.headers.emplace_back("Location", "/round");
      return response;
    });
    ASSERT_TRUE(server_->listen());
    thread_ = std::thread([this] { loop_.run(); });
  }
  void TearDown() override {
    loop_.stop();
    thread_.join();
  }

  [[nodiscard]] std::string url(const std::string& path) const {
    return "http://" + server_->address() + path;
  }
  Result<Fetched> get(const std::string& path, std::uint64_t bytes_max = 100) {
    return client_.get(url(path), bytes_max);
  }

  std::atomic<bool> stop_{false};
  HttpFetch client_{{.limit = std::chrono::seconds(10), .ca_bundle = {}, .netrc_file = {}}, stop_};

 private:
  boost::asio::io_context loop_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      loop_.get_executor()};
  std::optional<http::Server> server_;
  std::thread thread_;
};

TEST_F(HttpFetchTest, GivesBytesAndStatusAlsoThroughARedirect) {
  for (const char* path : {"/ten", "/away"}) {
    const auto answer = get(path);
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->bytes, "0123456789");
  }
}

TEST_F(HttpFetchTest, AStatusIsAnAnswer) {
  const auto gone = get("/gone");

  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->status, 410);
  EXPECT_TRUE(gone->missing());
}

TEST_F(HttpFetchTest, TakesExactlyWhatMayCome) {
  EXPECT_TRUE(get("/ten", 10));
  const auto answer = get("/ten", 9);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::too_large);
}

TEST_F(HttpFetchTest, ARedirectLeadsToAServerAndNotForEver) {
  for (const char* path : {"/file", "/round"}) {
    const auto answer = get(path);
    ASSERT_FALSE(answer) << path;
    EXPECT_EQ(answer.error().code, Errc::io_error) << path;
  }
}

TEST_F(HttpFetchTest, IsStoppedFromOutside) {
  stop_ = true;

  const auto answer = get("/ten");

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::cancelled);
}

TEST(HttpFetch, SaysWhereNobodyAnsweredWithoutItsSecrets) {
  ::setenv("no_proxy", "127.0.0.1", 1);
  const std::atomic<bool> stop{false};
  HttpFetch client({}, stop);

  // Port 9 of the loopback: nothing listens.
  const auto answer = client.get("http://user:secret@127.0.0.1:9/db.zip?token=x", 100);

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::io_error);
  EXPECT_TRUE(answer.error().what.starts_with("get http://127.0.0.1:9/db.zip: "))
      << answer.error().what;
}

TEST(ShownUrl, HasNoUserAndNoQuery) {
  EXPECT_EQ(shown_url("https://me:secret@a.example/p@v?token=x"), "https://a.example/p@v");
  EXPECT_EQ(shown_url("https://a.example/p@v1.0.0.info"), "https://a.example/p@v1.0.0.info");
}

}  // namespace
}  // namespace cupel::curl
