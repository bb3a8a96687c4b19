#include "worker/scan/scan_store.hpp"

#include "common/vulndb_io/take.hpp"
#include "tests/support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sys/stat.h>

namespace cupel::worker {
namespace {

std::string write(const tests::TempDir& dir, const std::string& name, const std::string& bytes) {
  std::ofstream(dir / name, std::ios::binary) << bytes;
  return (dir / name).string();
}

vulndb::Database database() {
  vulndb::Builder builder;
  EXPECT_FALSE(builder.add("index/db.json", R"({"modified": "2026-01-02T00:00:00Z"})"));
  EXPECT_FALSE(builder.add("index/vulns.json", R"([{"id": "GO-1"}])"));
  EXPECT_FALSE(builder.add("index/modules.json", "[]"));
  EXPECT_FALSE(builder.add("ID/GO-1.json", R"({"id": "GO-1"})"));
  return std::get<vulndb::Database>(builder.finish());
}

TEST(ScanStore, AScannerIsKeptReadOnlyAndFoundByItsDigest) {
  const tests::TempDir dir;
  const ScanStore store(dir / "scan");
  const Digest digest = sha256("program");
  EXPECT_FALSE(store.find_scanner(digest));
  const auto kept = store.keep_scanner(write(dir, "f", "program"), digest);
  ASSERT_TRUE(kept) << kept.error().text();
  EXPECT_EQ(store.find_scanner(digest), *kept);
  EXPECT_FALSE(store.find_scanner(sha256("other")));
  struct stat facts{};
  ASSERT_EQ(lstat((*kept + "/govulncheck").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0555U);
}

TEST(ScanStore, AnotherProgramIsNotKept) {
  const tests::TempDir dir;
  const ScanStore store(dir / "scan");
  const auto kept = store.keep_scanner(write(dir, "f", "program"), sha256("other"));
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, Errc::artifact_mismatch);
}

TEST(ScanStore, AScannerThatWasChangedIsNotFoundAndNeverMadeAgainInItsPlace) {
  const tests::TempDir dir;
  const ScanStore store(dir / "scan");
  const Digest digest = sha256("program");
  const std::string first = *store.keep_scanner(write(dir, "f", "program"), digest);
  chmod((first + "/govulncheck").c_str(), 0755);
  std::ofstream(first + "/govulncheck") << "changed";
  EXPECT_FALSE(store.find_scanner(digest));
  EXPECT_FALSE(std::filesystem::exists(first));
  EXPECT_NE(*store.keep_scanner(write(dir, "f", "program"), digest), first);
}

TEST(ScanStore, ADatabaseIsUnpackedAndProvedByItsId) {
  const tests::TempDir dir;
  const ScanStore store(dir / "scan");
  const auto content = database();
  const std::string tar = write(dir, "db.tar", vulndb::to_tar(content));
  const auto kept = store.keep_database(tar, content.id, content.time);
  ASSERT_TRUE(kept) << kept.error().text();
  EXPECT_EQ(store.find_database(content.id), *kept);
  chmod((*kept + "/ID/GO-1.json").c_str(), 0644);
  std::ofstream(*kept + "/ID/GO-1.json") << R"({"id": "GO-1", "withdrawn": "now"})";
  EXPECT_FALSE(store.find_database(content.id));
}

TEST(ScanStore, ADatabaseOfAnotherContentOrTimeIsNotKept) {
  const tests::TempDir dir;
  const ScanStore store(dir / "scan");
  const auto content = database();
  const std::string tar = write(dir, "db.tar", vulndb::to_tar(content));
  EXPECT_FALSE(store.keep_database(tar, std::string(64, '0'), content.time));
  EXPECT_FALSE(store.keep_database(tar, content.id, "another time"));
  const auto broken = store.keep_database(write(dir, "x", "no tar"), content.id, content.time);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, Errc::artifact_mismatch);
}

}  // namespace
}  // namespace cupel::worker
