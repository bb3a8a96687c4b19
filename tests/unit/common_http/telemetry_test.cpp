#include "common/app/log.hpp"
#include "common/app/metrics.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cupel::app {
namespace {

TEST(AppendJsonEscaped, KeepsLinesWhole) {
  std::string out;
  append_json_escaped(out, std::string_view("a\"b\\c\nd\x01\xff\xc3\xa9\xed\xa0\x80", 14));
  EXPECT_EQ(out, "a\\\"b\\\\c\\u000ad\\u0001\\ufffd\xc3\xa9\\ufffd\\ufffd\\ufffd");
}

TEST(Metrics, AreBornAtZeroAndCarryTheProcess) {
  Metrics metrics("coordinator", "1", "r");
  metrics.counter("cupel_x_total", "Things", {{"kind", "a"}});
  metrics.counter("cupel_x_total", "Things", {{"kind", "b"}}).Increment();
  int refreshed = 0;
  metrics.before_scrape([&] { ++refreshed; });

  const std::string text = metrics.text();

  EXPECT_EQ(refreshed, 1);
  EXPECT_NE(text.find("cupel_x_total{kind=\"a\"} 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("cupel_x_total{kind=\"b\"} 1\n"), std::string::npos);
  EXPECT_NE(text.find("cupel_log_messages_total{level=\"error\"} 0\n"), std::string::npos);
  EXPECT_NE(text.find("cupel_build_info{component=\"coordinator\""), std::string::npos);
  for (const char* name : {"process_cpu_seconds_total", "process_resident_memory_bytes",
                           "process_open_fds", "process_max_fds", "process_start_time_seconds"}) {
    EXPECT_NE(text.find("# TYPE " + std::string(name)), std::string::npos) << name;
  }
}

TEST(Metrics, CountLogLinesByLevel) {
  Metrics metrics("worker", "1", "r");
  metrics.log_counter()("warning");
  metrics.log_counter()("no such level");
  EXPECT_NE(metrics.text().find("cupel_log_messages_total{level=\"warning\"} 1\n"),
            std::string::npos);
}

}  // namespace
}  // namespace cupel::app
