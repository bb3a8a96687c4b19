#include "tests/integration/sandbox/run_lab.hpp"

#include "common/fs/files.hpp"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

namespace cupel::test {

ScratchDir::ScratchDir() : path_(std::string(CUPEL_BINARY_DIR) + "/scratch-" + fs::random_hex(6)) {
  std::filesystem::create_directories(path_);
  ::chmod(path_.c_str(), 0700);
}

ScratchDir::~ScratchDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ScratchDir::open_dir(const std::string& name) const {
  std::string dir = path_ + "/" + name + "-" + fs::random_hex(3);
  std::filesystem::create_directories(dir);
  ::chmod(dir.c_str(), 0777);
  return dir;
}

void write_file(const std::string& path, std::string_view content) {
  std::ofstream(path, std::ios::binary) << content;
}

const std::vector<std::string>& busybox_names() {
  static const std::vector<std::string> kNames = {
      "sh",     "cat",      "echo",  "sleep", "env",     "id",   "ls",    "dd",   "yes",
      "head",   "kill",     "touch", "wget",  "mkdir",   "rm",   "chmod", "true", "false",
      "printf", "seq",      "ps",    "tr",    "wc",      "test", "find",  "nc",   "setsid",
      "mount",  "readlink", "tail",  "grep",  "unshare", "ip"};
  return kNames;
}

RunLab::RunLab() : mark("cupel-test-" + fs::random_hex(6)) {
  mounts.source = scratch.open_dir("src");
  write_file(mounts.source + "/go.mod", "module example.com/a\n\ngo 1.22\n");
  mounts.modcache = scratch.open_dir("modcache");
  mounts.gocache = scratch.open_dir("gocache");
}

worker::RunRequest RunLab::shell(const std::string& script) const {
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
  request.limits.pids = pids;
  request.limit = std::chrono::seconds(30);
  return request;
}

worker::RunReport RunLab::run(worker::RunRequest request,
                              std::shared_ptr<worker::CancelToken> cancel,
                              worker::OutputSink sink) {
  return await(io, port().run(std::move(request), std::move(cancel), std::move(sink)));
}

}  // namespace cupel::test
