#include "worker/app/run_engine.hpp"

#include "common/fs/files.hpp"
#include "tests/support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <string>
#include <sys/stat.h>

namespace cupel::worker {
namespace {

TEST(CertificatesForRuns, AreTheConfiguredOnes) {
  const tests::TempDir dir;
  Options options;
  options.data_dir = dir.path().string();
  options.ca_bundle = "/etc/own.pem";

  EXPECT_EQ(*certificates_for_runs(options, (dir / "none").string()), "/etc/own.pem");
}

TEST(CertificatesForRuns, AreElseThoseOfTheHostWhereAnEngineCanMountThem) {
  const tests::TempDir dir;
  const std::string system = (dir / "system.crt").string();
  Options options;
  options.data_dir = (dir / "data").string();
  ASSERT_TRUE(fs::ensure_private_dir(options.data_dir));
  EXPECT_EQ(*certificates_for_runs(options, system), "") << "the host has none";

  for (const std::string text : {"of the distribution\n", "of the distribution\nand our own\n"}) {
    ASSERT_TRUE(fs::write_file_durably(system, text, 0644));

    const auto file = certificates_for_runs(options, system);

    ASSERT_TRUE(file) << file.error().text();
    EXPECT_EQ(*file, options.data_dir + "/ca-certificates.crt");
    EXPECT_EQ(*fs::read_file(*file, 1000), text);
    struct stat facts{};
    ASSERT_EQ(::stat(file->c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777u, 0444u) << "the user of a run reads it";
  }
}

}  // namespace
}  // namespace cupel::worker
