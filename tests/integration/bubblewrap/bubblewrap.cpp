#include "tests/integration/bubblewrap/bubblewrap.hpp"

#include "common/bubblewrap/image_store.hpp"
#include "common/core/digest.hpp"
#include "common/fs/files.hpp"
#include "tests/support/processes.hpp"

#include <filesystem>
#include <iterator>

namespace cupel::test {

namespace {

void write_root(const std::filesystem::path& root) {
  for (const char* const dir : {"bin", "etc", "usr/bin"})
    std::filesystem::create_directories(root / dir);
  std::filesystem::copy_file(kBusyboxOfHost, root / "bin/busybox");
  for (const std::string& name : busybox_names())
    std::filesystem::create_symlink("busybox", root / "bin" / name);
  std::ofstream(root / "etc/passwd") << "nobody:x:65534:65534::/:/bin/sh\n";
}

}  // namespace

void BubblewrapLab::set_up() {
  auto looked = worker::look_at_host(mark);
  ASSERT_TRUE(looked) << looked.error().text();
  host = *looked;
  image = "sha256:" + sha256(mark).hex();
  auto writer = bubblewrap::ImageWriter::begin(options().image_dir, image);
  ASSERT_TRUE(writer) << writer.error().text();
  write_root(writer->root());
  const auto finished = writer->finish({{"cupel.image.cc", "0"}});
  ASSERT_TRUE(finished) << finished.error().text();
  rebuild(options());
}

void BubblewrapLab::tear_down() {
  for (const std::string& process : left_behind()) ADD_FAILURE() << "left behind: " << process;
  if (runs) {
    EXPECT_EQ(runs->unremoved_count(), 0U);
  }
  runs.reset();
  if (auto again = worker::look_at_host(mark)) again->cgroups.close();
}

worker::BubblewrapOptions BubblewrapLab::options() const {
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

void BubblewrapLab::rebuild(worker::BubblewrapOptions options) {
  rebuild(host, std::move(options));
}

void BubblewrapLab::rebuild(worker::BubblewrapHost machine, worker::BubblewrapOptions options) {
  runs = std::make_unique<worker::BubblewrapRuns>(io.get_executor(), files, std::move(machine),
                                                  std::move(options));
  // The one before took its folders along.
  host = *worker::look_at_host(mark);
}

void BubblewrapLab::set_mount_budget(std::optional<std::uint64_t> bytes,
                                     std::optional<std::uint64_t> inodes) {
  worker::BubblewrapOptions tight = options();
  tight.mount_budget.bytes = bytes.value_or(tight.mount_budget.bytes);
  tight.mount_budget.inodes = inodes.value_or(tight.mount_budget.inodes);
  rebuild(std::move(tight));
}

std::vector<std::string> BubblewrapLab::left_behind() {
  return tests::command_lines_with(mark);
}

}  // namespace cupel::test
