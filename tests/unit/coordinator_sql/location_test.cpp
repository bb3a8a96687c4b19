#include "coordinator/sql/location.hpp"

#include <gtest/gtest.h>

namespace cupel::coordinator::sql {
namespace {

TEST(StoreLocation, NothingAndSqliteMeanTheFileInTheDataDirectory) {
  for (const char* const text : {"", "sqlite:"}) {
    const auto location = parse_store_location(text, "/data/store.db");
    ASSERT_TRUE(location);
    ASSERT_NE(location->file(), nullptr);
    EXPECT_EQ(*location->file(), "/data/store.db");
  }
  EXPECT_EQ(*parse_store_location("sqlite:/srv/other.db", "/data/store.db")->file(),
            "/srv/other.db");
}

TEST(StoreLocation, AServersUrlIsTakenApart) {
  const auto location =
      parse_store_location("postgresql://cupel@db.example.com:5433/fleet?sslmode=require", "/x");

  ASSERT_TRUE(location);
  ASSERT_NE(location->postgres(), nullptr);
  const auto& parameters = location->postgres()->parameters;
  EXPECT_EQ(parameters.at("host"), "db.example.com");
  EXPECT_EQ(parameters.at("port"), "5433");
  EXPECT_EQ(parameters.at("user"), "cupel");
  EXPECT_EQ(parameters.at("dbname"), "fleet");
  EXPECT_EQ(parameters.at("sslmode"), "require");
  EXPECT_EQ(location->name(), "postgresql://db.example.com/fleet");
}

TEST(StoreLocation, APasswordInTheUrlIsRefusedAndNotRepeated) {
  for (const char* const url :
       {"postgresql://cupel:hunter2@db.example.com/fleet",
        "postgresql://db.example.com/fleet?password=hunter2",
        "postgresql://cupel:hunter2@db.example.com/fleet?nonsense=hunter2"}) {
    const auto refused = parse_store_location(url, "/x");

    ASSERT_FALSE(refused) << url;
    EXPECT_EQ(refused.error().code, Errc::bad_config);
    EXPECT_EQ(refused.error().text().find("hunter2"), std::string::npos);
  }
}

TEST(StoreLocation, APasswordIsInNoName) {
  const auto location = parse_store_location("postgresql://db.example.com/fleet", "/x", "hunter2");
  ASSERT_TRUE(location);
  EXPECT_EQ(location->name().find("hunter2"), std::string::npos);
  EXPECT_EQ(location->postgres()->password, "hunter2");
}

TEST(StoreLocation, WhatIsNeitherIsRefused) {
  EXPECT_FALSE(parse_store_location("mysql://db.example.com/fleet", "/x"));
  EXPECT_FALSE(parse_store_location("/srv/store.db", "/x"));
  EXPECT_FALSE(parse_store_location("", "/x", "a password without a server"));
}

}  // namespace
}  // namespace cupel::coordinator::sql
