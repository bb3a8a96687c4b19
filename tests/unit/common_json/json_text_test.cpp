#include "common/core/json_text.hpp"

#include "common/core/json.hpp"
#include "tests/support/filled.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace cupel {
namespace {

using nlohmann::json;
using tests::filled;
using tests::filled_alternatives;

TEST(JsonText, OfAResultSaysWhatItsJsonSays) {
  EXPECT_EQ(json::parse(json_text(filled<TaskResult>())), to_json(filled<TaskResult>()));
  EXPECT_EQ(json::parse(json_text(TaskResult())), to_json(TaskResult()));
}

TEST(JsonText, OfASpecSaysWhatItsJsonSaysButForTheSettings) {
  for (const Work& work : filled_alternatives(Work())) {
    auto spec = filled<TaskSpec>();
    spec.work = work;
    json wanted = to_json(spec);
    wanted.erase("settings");

    EXPECT_EQ(json::parse(json_text_without_settings(spec)), wanted);
  }
}

TEST(JsonText, OfSourcesAndUnitsSaysWhatTheirJsonSays) {
  for (const Source& source : filled_alternatives(Source())) {
    EXPECT_EQ(json::parse(json_text(source)), to_json(source));
  }
  EXPECT_EQ(json::parse(json_text(filled<UnitInfo>())), to_json(filled<UnitInfo>()));
}

TEST(JsonText, EscapesWhatALineCanNotHold) {
  TaskResult result;
  result.message = "a \"b\" \\ \n\r\t \x01 \x7f \xc3\xa9";

  const std::string text = json_text(result);

  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(json::parse(text)["message"], result.message);
}

TEST(JsonText, ReplacesBytesThatAreNoText) {
  TaskResult result;
  result.message = std::string("a\xff\0b", 4);

  EXPECT_EQ(json::parse(json_text(result)), to_json(result));
}

TEST(JsonLine, IsOneObjectAndThenANewOne) {
  JsonLine line;

  EXPECT_EQ(line.text("a", "x\"y").number("b", 7U).number("c", -1).number("d", 0.5).take(),
            R"({"a":"x\"y","b":7,"c":-1,"d":0.5})");
  EXPECT_EQ(line.take(), "{}");
}

}  // namespace
}  // namespace cupel
