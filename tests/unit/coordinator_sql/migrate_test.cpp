#include "coordinator/sql/migrate.hpp"

#include "tests/unit/coordinator_sql/fixture.hpp"

namespace cupel::coordinator::sql {
namespace {

TEST(SplitStatements, EndsAStatementAtASemicolonThatEndsALine) {
  const auto statements = split_statements(
      "-- remark;\nCREATE TABLE a (\n  x TEXT\n);\n\nINSERT INTO a VALUES ('b;c');\n");

  ASSERT_EQ(statements.size(), 2U);
  EXPECT_EQ(statements[0], "CREATE TABLE a (\n  x TEXT\n)\n");
  EXPECT_EQ(statements[1], "INSERT INTO a VALUES ('b;c')\n");
}

class MigrateTest : public BothStores {
 protected:
  std::unique_ptr<Connection> open() {
    auto connection = Connection::open(store_);
    EXPECT_TRUE(connection);
    return connection ? std::move(*connection) : nullptr;
  }
  const std::vector<Migration> old_{
      {"0001_first", "CREATE TABLE a (x {{id}});\nINSERT INTO a (x) VALUES (5);\n"}};
  const std::vector<Migration> new_{
      old_[0], {"0002_second", "ALTER TABLE a ADD COLUMN y TEXT NOT NULL DEFAULT 'z';\n"}};
};

CUPEL_ON_BOTH_STORES(MigrateTest);

TEST_P(MigrateTest, BringsAnOlderFileForwardAndKeepsItsRows) {
  ASSERT_TRUE(migrate(*open(), old_));

  const auto connection = open();
  ASSERT_TRUE(migrate(*connection, new_));

  std::string y;
  connection->session() << "SELECT y FROM a WHERE x = 5", soci::into(y);
  EXPECT_EQ(y, "z");
}

TEST_P(MigrateTest, DoesNothingTheSecondTime) {
  ASSERT_TRUE(migrate(*open(), new_));
  EXPECT_TRUE(migrate(*open(), new_));
}

TEST_P(MigrateTest, RefusesAStoreOfANewerProgram) {
  ASSERT_TRUE(migrate(*open(), new_));

  const auto refused = migrate(*open(), old_);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::bad_config);
  EXPECT_NE(refused.error().what.find("newer version"), std::string::npos);
}

TEST_P(MigrateTest, RefusesAStoreWhoseHistoryIsNotOurs) {
  ASSERT_TRUE(migrate(*open(), {{"0001_first", "CREATE TABLE other (x {{id}});\n"}}));
  EXPECT_FALSE(migrate(*open(), old_));
}

TEST_P(MigrateTest, AFailedMigrationLeavesNothingOfItself) {
  const std::vector<Migration> broken{
      {"0001_first", "CREATE TABLE a (x {{id}});\nCREATE TABLE a (x {{id}});\n"}};
  ASSERT_FALSE(migrate(*open(), broken));

  EXPECT_TRUE(migrate(*open(), old_));
}

TEST(Migrations, OfTheProgramAreNumberedWithoutAGap) {
  for (std::size_t i = 0; i < migrations().size(); ++i) {
    EXPECT_EQ(std::stoul(std::string(migrations()[i].name.substr(0, 4))), i + 1);
  }
}

}  // namespace
}  // namespace cupel::coordinator::sql
