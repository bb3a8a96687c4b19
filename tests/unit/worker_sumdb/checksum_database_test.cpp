#include "worker/sumdb/checksum_database.hpp"

#include "common/fs/files.hpp"
#include "tests/support/recorded_sumdb.hpp"
#include "tests/support/temp_dir.hpp"

#include <gtest/gtest.h>

namespace cupel::worker::sumdb {
namespace {

const ModuleVersion kErrors{"github.com/pkg/errors", "v0.9.1"};
constexpr const char* kLookup = "lookup/github.com/pkg/errors@v0.9.1";
constexpr std::uint64_t kOlder = 66398721;
constexpr std::uint64_t kNewer = 72525630;

class ChecksumDatabaseTest : public ::testing::Test {
 protected:
  ChecksumDatabase client() {
    return ChecksumDatabase({.database = tests::RecordedSumdb::database(),
                             .proxies = module_proxies("https://proxy.example"),
                             .directory = dir_.path()},
                            server_.fetch());
  }
  /// The recorded answer with the newer signed tree.
  static std::string newer_answer() {
    const std::string answer = tests::RecordedSumdb::read(kLookup);
    return answer.substr(0, answer.find("\n\n") + 2) + tests::RecordedSumdb::read("latest");
  }
  Errc refusal(ChecksumDatabase& client, const ModuleVersion& module = kErrors) {
    const auto sums = client.lookup(module);
    return sums ? Errc::bug : sums.error().code;
  }

  tests::TempDir dir_;
  tests::RecordedSumdb server_;
};

TEST_F(ChecksumDatabaseTest, GivesTheSumsOfARecordThatIsProved) {
  auto database = client();
  const auto sums = database.lookup(kErrors);
  ASSERT_TRUE(sums) << sums.error().text();
  EXPECT_EQ(sums->zip, "h1:FEBLx1zS214owpjy7qsBeixbURkuhQAwrK5UwLGTwt4=");
  EXPECT_EQ(database.kept()->size, kOlder);
  EXPECT_TRUE(std::filesystem::exists(database.tree_file()));
}

TEST_F(ChecksumDatabaseTest, AsksForTilesOnce) {
  auto database = client();
  ASSERT_TRUE(database.lookup(kErrors));
  const std::size_t tiles = server_.count("tile/");
  EXPECT_GT(tiles, 0U);
  ASSERT_TRUE(database.lookup(kErrors));
  EXPECT_EQ(server_.count("tile/"), tiles);
  EXPECT_EQ(server_.count("supported"), 1U);
}

TEST_F(ChecksumDatabaseTest, FollowsATreeThatHasGrown) {
  ASSERT_TRUE(client().lookup(kErrors));
  server_.instead[kLookup] = newer_answer();
  auto database = client();
  const auto sums = database.lookup(kErrors);
  ASSERT_TRUE(sums) << sums.error().text();
  EXPECT_EQ(database.kept()->size, kNewer);
}

TEST_F(ChecksumDatabaseTest, AnOlderTreeIsProvedToBeABeginningAndNeverKept) {
  server_.instead[kLookup] = newer_answer();
  ASSERT_TRUE(client().lookup(kErrors));
  server_.instead.clear();
  auto database = client();
  const auto sums = database.lookup(kErrors);
  ASSERT_TRUE(sums) << sums.error().text();
  EXPECT_EQ(database.kept()->size, kNewer);
  EXPECT_EQ(client().lookup(kErrors)->go_mod, sums->go_mod);
  EXPECT_EQ(tests::RecordedSumdb::read("latest"), *fs::read_file(database.tree_file(), 4096));
}

TEST_F(ChecksumDatabaseTest, RefusesAnOlderTreeWhoseProofIsMissing) {
  server_.instead[kLookup] = newer_answer();
  ASSERT_TRUE(client().lookup(kErrors));
  server_.instead.clear();
  // Only the proof that the older tree is a beginning of the newer one needs this tile.
  server_.instead["tile/8/0/x259/370"] = std::string(8192, 'x');
  auto database = client();
  EXPECT_EQ(refusal(database), Errc::artifact_mismatch);
  EXPECT_EQ(database.kept()->size, kNewer);
}

TEST_F(ChecksumDatabaseTest, RefusesAGrownTreeThatIsNoContinuation) {
  ASSERT_TRUE(client().lookup(kErrors));
  server_.instead[kLookup] = newer_answer();
  server_.instead["tile/8/0/x259/370"] = std::string(8192, 'x');
  auto database = client();
  EXPECT_EQ(refusal(database), Errc::artifact_mismatch);
  EXPECT_EQ(database.kept()->size, kOlder) << "the tree that was seen stays";
}

TEST_F(ChecksumDatabaseTest, RefusesAWrongSignature) {
  std::string answer = tests::RecordedSumdb::read(kLookup);
  char& letter = answer[answer.size() - 20];
  letter = letter == 'A' ? 'B' : 'A';
  server_.instead[kLookup] = answer;
  auto database = client();
  EXPECT_EQ(refusal(database), Errc::artifact_mismatch);
  EXPECT_FALSE(std::filesystem::exists(database.tree_file()));
}

TEST_F(ChecksumDatabaseTest, RefusesARecordWithAnotherSum) {
  std::string answer = tests::RecordedSumdb::read(kLookup);
  char& letter = answer[answer.find("h1:") + 5];
  letter = letter == 'A' ? 'B' : 'A';
  server_.instead[kLookup] = answer;
  auto database = client();
  EXPECT_EQ(refusal(database), Errc::artifact_mismatch);
}

TEST_F(ChecksumDatabaseTest, RefusesTheRecordOfAnotherVersion) {
  server_.instead["lookup/github.com/pkg/errors@v0.9.2"] = tests::RecordedSumdb::read(kLookup);
  auto database = client();
  EXPECT_EQ(refusal(database, {"github.com/pkg/errors", "v0.9.2"}), Errc::artifact_mismatch);
}

TEST_F(ChecksumDatabaseTest, RefusesATruncatedTile) {
  const std::string tile = "tile/8/0/x002/760";
  server_.instead[tile] = tests::RecordedSumdb::read(tile).substr(0, 8000);
  auto database = client();
  EXPECT_EQ(refusal(database), Errc::bad_value);
}

TEST_F(ChecksumDatabaseTest, RefusesToGoOnFromADamagedTree) {
  ASSERT_TRUE(client().lookup(kErrors));
  const auto file = client().tree_file();
  ASSERT_TRUE(fs::write_file_durably(file, "go.sum database tree\n", 0600));
  auto database = client();
  EXPECT_FALSE(database.lookup(kErrors));
  EXPECT_FALSE(database.lookup(kErrors)) << "and not at the second time either";
}

TEST_F(ChecksumDatabaseTest, TakesTheFullTileWhereThePartialOneIsGone) {
  server_.statuses["tile/8/0/x259/370.p/1"] = 404;
  auto database = client();
  const auto sums = database.lookup(kErrors);
  EXPECT_TRUE(sums) << sums.error().text();
}

TEST_F(ChecksumDatabaseTest, TellsAModuleThatIsNotThereFromNoAnswer) {
  auto database = client();
  EXPECT_EQ(refusal(database, {"github.com/pkg/errors", "v9.9.9"}), Errc::not_found);
  server_.statuses[kLookup] = 0;
  EXPECT_EQ(refusal(database), Errc::io_error);
  server_.statuses[kLookup] = 500;
  EXPECT_EQ(refusal(database), Errc::io_error);
  server_.statuses.clear();
  server_.statuses["tile/8/0/x002/760"] = 404;
  EXPECT_EQ(refusal(database), Errc::io_error) << "a tile is no module";
}

TEST_F(ChecksumDatabaseTest, AsksTheDatabaseItselfWhereNoProxyPassesItOn) {
  server_.statuses["supported"] = 404;
  auto database = client();
  const auto sums = database.lookup(kErrors);
  ASSERT_FALSE(sums);
  EXPECT_NE(sums.error().what.find("https://" + tests::RecordedSumdb::database().verifier.name),
            std::string::npos);
  server_.statuses["supported"] = 500;
  auto other = client();
  EXPECT_EQ(refusal(other), Errc::io_error);
}

}  // namespace
}  // namespace cupel::worker::sumdb
