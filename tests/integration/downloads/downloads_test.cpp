// A second acquisition of the same modules asks nobody: a real engine, a real go command. Where no
// image with the label cupel.image.go is present there is nothing to test, and the cases say so.
#include "common/fs/files.hpp"
#include "tests/integration/downloads/counting_proxy.hpp"
#include "tests/integration/sandbox/toolchain_fixture.hpp"
#include "worker/downloads/download_filler.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

namespace cupel::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kVersions = "github.com/pkg/errors/@v/";

class DownloadsTest : public ToolchainFixture {
 protected:
  void SetUp() override {
    ToolchainFixture::SetUp();
    if (toolchain_.empty()) return;
    std::string key = tests::RecordedSumdb::read("key");
    key.pop_back();
    auto with_proxy = options();
    with_proxy.context.goproxy = proxy_.url();
    with_proxy.context.gosumdb = key;
    rebuild(with_proxy);
    auto filler = worker::DownloadFiller::start(
        {.limits = {},
         .directory = scratch.path() + "/downloads",
         .database = tests::RecordedSumdb::database(),
         .proxies = worker::sumdb::module_proxies(proxy_.url_for_the_host()),
         .http = {}},
        [this](const worker::FillReport& report, std::uint64_t /*bytes*/) { report_ = report; });
    ASSERT_TRUE(filler) << filler.error().text();
    filler_ = *std::move(filler);
    acquire_source();
  }

  worker::AcquireContext context(UnitId unit) override {
    worker::AcquireContext context = ToolchainFixture::context(unit);
    context.policy.downloads = filler_->cache().mount().string();
    return context;
  }

  void acquire_source() {
    const std::string repo = scratch.path() + "/repo";
    std::filesystem::create_directories(repo);
    write_file(repo + "/go.mod",
               "module ex.test/m\n\ngo 1.20\n\nrequire github.com/pkg/errors v0.9.1\n");
    write_file(repo + "/m.go", "package m\n\nimport _ \"github.com/pkg/errors\"\n");
    const std::string lookup = tests::RecordedSumdb::read("lookup/github.com/pkg/errors@v0.9.1");
    const std::size_t begin = lookup.find('\n') + 1;
    write_file(repo + "/go.sum", lookup.substr(begin, lookup.find("\n\n") + 1 - begin));
    acquire_folder(repo);
  }

  /// Why it stopped; empty when it didn't.
  std::string acquire_modules(UnitId unit) {
    AcquireModules work;
    work.commit = facts_.commit;
    work.unit = facts_.units.at(0);
    auto answer = await(io, worker::acquire_modules(context(unit), std::move(work),
                                                    std::make_shared<worker::CancelToken>()));
    const auto* stopped = std::get_if<worker::AcquireStopped>(&answer);
    return stopped == nullptr ? "" : stopped->message + " ";
  }
  std::string modcache(UnitId unit) {
    return workspaces_->find_unit(RepositoryId{2}, facts_.commit, unit)->modcache;
  }
  void share(UnitId unit) {
    ASSERT_TRUE(filler_->take(modcache(unit), nullptr));
    filler_->wait_until_idle();
  }
  std::string cached(const std::string& ending) {
    const auto bytes = fs::read_file(
        filler_->cache().mount() / (kVersions + std::string("v0.9.1.") + ending), 1 << 20);
    return bytes ? *bytes : std::string();
  }

  CountingProxy proxy_;
  std::unique_ptr<worker::DownloadFiller> filler_;
  worker::FillReport report_;
};

TEST_F(DownloadsTest, ASecondAcquisitionAsksTheNetworkForNothing) {
  if (toolchain_.empty()) return;
  ASSERT_EQ(acquire_modules(UnitId{3}), "");
  EXPECT_THAT(proxy_.take_requests(), Contains(std::string("/") + kVersions + "v0.9.1.zip"));
  share(UnitId{3});
  EXPECT_EQ(report_.counts.versions, 1U);
  EXPECT_EQ(cached("zip"), tests::RecordedSumdb::read("module/v0.9.1.zip"));
  (void)proxy_.take_requests();

  const std::string stopped = acquire_modules(UnitId{4});

  EXPECT_EQ(stopped, "");
  EXPECT_THAT(proxy_.take_requests(), IsEmpty());
  EXPECT_TRUE(
      std::filesystem::exists(modcache(UnitId{4}) + "/cache/download/" + kVersions + "v0.9.1.zip"));
}

TEST_F(DownloadsTest, AZipThatARunChangedIsNotTaken) {
  if (toolchain_.empty()) return;
  ASSERT_EQ(acquire_modules(UnitId{3}), "");
  const std::string zip = modcache(UnitId{3}) + "/cache/download/" + kVersions + "v0.9.1.zip";
  std::string bytes = tests::RecordedSumdb::read("module/v0.9.1.zip");
  for (std::size_t at = bytes.find("errors.go"); at != std::string::npos;
       at = bytes.find("errors.go", at + 1)) {
    bytes[at] = 'E';
  }
  std::filesystem::remove(zip);
  std::ofstream(zip, std::ios::binary) << bytes;

  share(UnitId{3});

  EXPECT_EQ(report_.counts.changed, 1U);
  EXPECT_EQ(cached("zip"), "");
  (void)proxy_.take_requests();
  EXPECT_EQ(acquire_modules(UnitId{4}), "");
  EXPECT_THAT(proxy_.take_requests(), Contains(std::string("/") + kVersions + "v0.9.1.zip"));
}

TEST_F(DownloadsTest, AFileThatWasDamagedOnDiskNeverMakesARunPass) {
  if (toolchain_.empty()) return;
  ASSERT_EQ(acquire_modules(UnitId{3}), "");
  share(UnitId{3});
  const auto mod = filler_->cache().mount() / (kVersions + std::string("v0.9.1.mod"));
  std::filesystem::remove(mod);
  write_file(mod.string(), "module github.com/pkg/errorz\n");

  EXPECT_THAT(acquire_modules(UnitId{4}), HasSubstr("checksum"));
}

}  // namespace
}  // namespace cupel::test
