#include "worker/zmq/bulk_link.hpp"

#include "common/core/digest.hpp"
#include "tests/support/temp_dir.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <zmq.hpp>

#include <chrono>
#include <exception>
#include <filesystem>
#include <optional>
#include <utility>

namespace cupel::worker {
namespace {

using namespace std::chrono_literals;

TEST(BulkLink, GivesUpADownloadThatNobodyNeedsAnyMore) {
  const tests::TempDir dir;
  const std::string file = (dir / "artifact").string();
  boost::asio::io_context io;
  zmq::context_t context;
  net::DealerOptions options;
  options.endpoint = "tcp://127.0.0.1:1";  // nobody is there
  options.plane = net::Plane::bulk;
  options.key = net::generate_key_pair();
  options.server = options.key->public_key;
  auto link = BulkLink::connect(io, context, std::move(options));
  ASSERT_TRUE(link) << link.error().text();
  int asked = 0;
  std::optional<Result<void>> answer;
  boost::asio::co_spawn(io,
                        (*link)->download({TaskId{1}, Token{1}}, sha256("x"), 1000, file, 10min,
                                          [&asked] { return ++asked > 2; }),
                        [&](const std::exception_ptr& thrown, Result<void> ended) {
                          EXPECT_FALSE(thrown);
                          answer = std::move(ended);
                          io.stop();
                        });

  io.run_for(60s);

  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->error().code, Errc::cancelled);
  EXPECT_EQ(asked, 3);
  EXPECT_FALSE(std::filesystem::exists(file));
  (*link)->stop();
}

}  // namespace
}  // namespace cupel::worker
