#include "common/http/message.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace cupel::http {
namespace {

TEST(Problem, CarriesCodeHintAndPlaces) {
  const Response response =
      problem({Errc::image_missing, "no image", "", ""}, {{3, 5, "wrong", Errc::bad_value}});

  const auto json = nlohmann::json::parse(std::get<std::string>(response.body));
  EXPECT_EQ(response.content_type, "application/problem+json");
  EXPECT_EQ(json["code"], "CUP-3005");
  EXPECT_EQ(json["label"], "image_missing");
  EXPECT_EQ(json["status"], response.status);
  EXPECT_FALSE(json["hint"].get<std::string>().empty());
  EXPECT_EQ(json["errors"][0]["line"], 3);
  EXPECT_EQ(json["errors"][0]["column"], 5);
  EXPECT_EQ(json["errors"][0]["code"], "CUP-1012");
}

TEST(Problem, IsValidJsonWhateverTheOtherSideSaid) {
  const Response response = problem({Errc::bug, "bad", "\xff\xfe\n\"", ""});
  EXPECT_TRUE(nlohmann::json::accept(std::get<std::string>(response.body)));
}

TEST(StatusOf, TellsTheCallerWhatItCanDo) {
  EXPECT_EQ(status_of(Errc::yaml_syntax), 400U);
  EXPECT_EQ(status_of(Errc::unauthenticated), 401U);
  EXPECT_EQ(status_of(Errc::forbidden), 403U);
  EXPECT_EQ(status_of(Errc::not_found), 404U);
  EXPECT_EQ(status_of(Errc::too_large), 413U);
  EXPECT_EQ(status_of(Errc::not_ready), 503U);
  EXPECT_EQ(status_of(Errc::bug), 500U);
}

TEST(TokenTable, KnowsOnlyWholeTokens) {
  TokenTable table;
  table.add("secret", {"alice", {"read"}});

  EXPECT_EQ(table.check("secret")->name, "alice");
  EXPECT_TRUE(table.check("secret")->may("read"));
  EXPECT_FALSE(table.check("secret")->may("operate"));
  for (const char* wrong : {"", "secre", "secrets", "SECRET"})
    EXPECT_FALSE(table.check(wrong)) << wrong;
}

}  // namespace
}  // namespace cupel::http
