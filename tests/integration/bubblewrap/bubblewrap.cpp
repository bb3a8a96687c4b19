#include "tests/integration/bubblewrap/bubblewrap.hpp"

#include "common/bubblewrap/image_store.hpp"
#include "common/core/digest.hpp"
#include "common/fs/files.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace cupel::test {

namespace {

constexpr const char* kBusyboxProgram = "/bin/busybox";  // package busybox-static

void write_root(const std::filesystem::path& root) {
  for (const char* const dir : {"bin", "etc", "usr/bin"})
    std::filesystem::create_directories(root / dir);
  std::filesystem::copy_file(kBusyboxProgram, root / "bin/busybox");
  for (const char* const name :
       {"sh",   "cat",   "echo",   "sleep", "env",      "id",    "ls",   "dd",
        "yes",  "head",  "kill",   "touch", "wget",     "mkdir", "rm",   "chmod",
        "true", "false", "printf", "seq",   "ps",       "tr",    "wc",   "test",
        "find", "nc",    "setsid", "mount", "readlink", "tail",  "grep", "unshare"}) {
    std::filesystem::create_symlink("busybox", root / "bin" / name);
  }
  std::ofstream(root / "etc/passwd") << "nobody:x:65534:65534::/:/bin/sh\n";
}

}  // namespace

void BubblewrapTest::SetUp() {
  mark = "cupel-test-" + fs::random_hex(6);
  auto looked = worker::look_at_host(mark);
  ASSERT_TRUE(looked) << looked.error().text();
  host = *looked;
  image = "sha256:" + sha256(mark).hex();
  auto writer = bubblewrap::ImageWriter::begin(options().image_dir, image);
  ASSERT_TRUE(writer) << writer.error().text();
  write_root(writer->root());
  const auto finished = writer->finish({{"cupel.image.cc", "0"}});
  ASSERT_TRUE(finished) << finished.error().text();
  mounts.source = scratch.open_dir("src");
  write_file(mounts.source + "/go.mod", "module example.com/a\n\ngo 1.22\n");
  mounts.modcache = scratch.open_dir("modcache");
  mounts.gocache = scratch.open_dir("gocache");
  rebuild(options());
}

void BubblewrapTest::TearDown() {
  for (const std::string& process : left_behind()) ADD_FAILURE() << "left behind: " << process;
  if (runs) {
    EXPECT_EQ(runs->unremoved_count(), 0U);
  }
  runs.reset();
  if (auto again = worker::look_at_host(mark)) again->cgroups.close();
}

worker::BubblewrapOptions BubblewrapTest::options() const {
  worker::BubblewrapOptions all;
  all.context.worker = WorkerId{11};
  all.context.wrapper_path = std::string(CUPEL_BINARY_DIR) + "/bin/cupel-init";
  all.context.goproxy = "https://proxy.invalid";
  all.context.gosumdb = "sum.invalid";
  all.image_dir = scratch.path() + "/images";
  all.mount_budget.reserve_bytes = 1U << 20U;
  all.dump_grace = std::chrono::seconds(1);
  return all;
}

void BubblewrapTest::rebuild(worker::BubblewrapOptions options) {
  rebuild(host, std::move(options));
}

void BubblewrapTest::rebuild(worker::BubblewrapHost machine, worker::BubblewrapOptions options) {
  runs = std::make_unique<worker::BubblewrapRuns>(io.get_executor(), files, std::move(machine),
                                                  std::move(options));
  // The one before took its folders along.
  host = *worker::look_at_host(mark);
}

worker::RunRequest BubblewrapTest::shell(const std::string& script) {
  worker::RunRequest request;
  request.profile = worker::Profile::execute;
  request.campaign = CampaignId{1};
  request.task = TaskId{2};
  request.token = Token{3};
  request.command = {"sh", "-c", script, mark};
  request.image = image;
  request.mounts = mounts;
  request.limits.memory_bytes = 256ULL << 20U;
  request.limits.tmp_bytes = 32ULL << 20U;
  request.limits.pids = 64;
  request.limit = std::chrono::seconds(30);
  return request;
}

worker::RunReport BubblewrapTest::run(worker::RunRequest request,
                                      std::shared_ptr<worker::CancelToken> cancel,
                                      worker::OutputSink sink) {
  return await(io, runs->run(std::move(request), std::move(cancel), std::move(sink)));
}

std::vector<std::string> BubblewrapTest::left_behind() const {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline");
    const std::string words{std::istreambuf_iterator<char>(file), {}};
    if (words.find(mark) != std::string::npos) found.push_back(words);
  }
  return found;
}

}  // namespace cupel::test
