#include "tests/integration/sandbox/sandbox.hpp"

#include "common/fs/files.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::test {

namespace {

constexpr const char* kBusybox = "/bin/busybox";  // package busybox-static

/// One entry of a ustar archive, with its padding.
std::string tar_entry(const std::string& name, char type, unsigned mode, const std::string& content,
                      const std::string& link = {}) {
  std::array<char, 512> header{};
  const auto put = [&header](std::size_t at, std::size_t size, const std::string& text) {
    text.copy(header.data() + at, std::min(size, text.size()));
  };
  const auto octal = [](unsigned long value, int digits) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%0*lo", digits, value);
    return std::string(text.data());
  };
  put(0, 100, name);
  put(100, 8, octal(mode, 7));
  put(108, 8, octal(0, 7));
  put(116, 8, octal(0, 7));
  put(124, 12, octal(type == '0' ? content.size() : 0, 11));
  put(136, 12, octal(0, 11));
  put(148, 8, "        ");
  header[156] = type;
  put(157, 100, link);
  put(257, 6, std::string("ustar\0", 6));
  put(263, 2, "00");
  unsigned long sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(148, 8, octal(sum, 6) + '\0' + ' ');
  std::string entry(header.data(), header.size());
  if (type == '0') {
    entry += content;
    entry.append((512 - content.size() % 512) % 512, '\0');
  }
  return entry;
}

std::string root_file_system() {
  std::ifstream file(kBusybox, std::ios::binary);
  const std::string busybox((std::istreambuf_iterator<char>(file)), {});
  std::string tar;
  for (const char* const dir :
       {"bin/", "etc/", "proc/", "sys/", "dev/", "usr/", "usr/bin/", "root/"}) {
    tar += tar_entry(dir, '5', 0755, {});
  }
  tar += tar_entry("tmp/", '5', 01777, {});
  tar += tar_entry("bin/busybox", '0', 0755, busybox);
  for (const char* const name :
       {"sh",   "cat",   "echo",   "sleep", "env",      "id",    "ls",    "dd",
        "yes",  "head",  "kill",   "touch", "wget",     "mkdir", "chmod", "rm",
        "true", "false", "printf", "seq",   "ps",       "tr",    "wc",    "test",
        "find", "ip",    "setsid", "mount", "readlink", "tail",  "grep"}) {
    tar += tar_entry(std::string("bin/") + name, '2', 0777, {}, "busybox");
  }
  tar += tar_entry("etc/passwd", '0', 0644,
                   "root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n");
  tar.append(1024, '\0');
  return tar;
}

docker::ByteSource once(std::string bytes) {
  auto rest = std::make_shared<std::string>(std::move(bytes));
  return [rest]() -> boost::asio::awaitable<Result<std::string>> {
    const std::shared_ptr<std::string> held = rest;
    std::string piece = held->substr(0, 65536);
    held->erase(0, piece.size());
    co_return piece;
  };
}

}  // namespace

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

void SandboxTest::SetUp() {
  const Result<std::string> socket = docker::find_socket({});
  ASSERT_TRUE(socket) << "these tests need an engine: " << socket.error().text();
  engine = std::make_unique<docker::Client>(io.get_executor(),
                                            docker::ClientOptions{.socket_path = *socket});
  const auto version = await(io, engine->negotiate());
  ASSERT_TRUE(version) << version.error().text();
  tag_ = fs::random_hex(6);
  docker::ImportRequest import{.repository = "cupel-test/busybox",
                               .tag = tag_,
                               .changes = {"LABEL cupel.test=1", "ENV LEAKED=by-the-image",
                                           "ENV GOFLAGS=-mod=evil", "LABEL cupel.image.cc=0"},
                               .message = "cupel test"};
  const auto imported =
      await(io, engine->image_import(std::move(import), once(root_file_system())));
  ASSERT_TRUE(imported) << imported.error().text();
  image = *imported;
  fleet = FleetId{fs::random_u64() >> 1U | 1U};
  mounts.source = scratch.open_dir("src");
  write_file(mounts.source + "/go.mod", "module example.com/a\n\ngo 1.22\n");
  mounts.modcache = scratch.open_dir("modcache");
  mounts.gocache = scratch.open_dir("gocache");
  rebuild(options());
}

void SandboxTest::TearDown() {
  if (!engine) return;
  for (const docker::ContainerSummary& container : our_containers()) {
    ADD_FAILURE() << "left behind: " << container.name << " (" << container.state << ")";
    (void)await(io, engine->remove(container.id));
  }
  const auto removed = await(io, engine->image_remove("cupel-test/busybox:" + tag_));
  EXPECT_TRUE(removed) << removed.error().text();
}

worker::ExecutorOptions SandboxTest::options() const {
  worker::ExecutorOptions all;
  all.context.fleet = fleet;
  all.context.worker = WorkerId{11};
  all.context.incarnation = Incarnation{1};
  all.context.wrapper_path = std::string(CUPEL_BINARY_DIR) + "/bin/cupel-init";
  all.context.goproxy = "https://proxy.invalid";
  all.context.gosumdb = "sum.invalid";
  all.mount_budget.reserve_bytes = 1U << 20U;
  all.dump_grace = std::chrono::seconds(1);
  return all;
}

void SandboxTest::rebuild(worker::ExecutorOptions options) {
  executor =
      std::make_unique<worker::RunExecutor>(io.get_executor(), *engine, files, std::move(options));
}

worker::RunRequest SandboxTest::shell(const std::string& script) {
  worker::RunRequest request;
  request.profile = worker::Profile::execute;
  request.campaign = CampaignId{1};
  request.task = TaskId{2};
  request.token = Token{3};
  request.command = {"sh", "-c", script};
  request.image = image;
  request.mounts = mounts;
  request.limits.memory_bytes = 256ULL << 20U;
  request.limits.tmp_bytes = 32ULL << 20U;
  request.limits.pids = 64;
  request.limit = std::chrono::seconds(30);
  return request;
}

worker::RunReport SandboxTest::run(worker::RunRequest request,
                                   std::shared_ptr<worker::CancelToken> cancel,
                                   worker::OutputSink sink) {
  return await(io, executor->run(std::move(request), std::move(cancel), std::move(sink)));
}

std::string SandboxTest::toolchain(const std::string& with_compiler) {
  std::vector<std::string> labels{"cupel.image.go", "cupel.image.cc=" + with_compiler};
  const auto images = await(io, engine->image_list(std::move(labels)));
  EXPECT_TRUE(images) << images.error().text();
  if (!images || images->empty()) {
    std::cout << "no toolchain image with cupel.image.cc=" << with_compiler << " here\n";
    return {};
  }
  return std::ranges::max_element(
             *images, {},
             [](const docker::ImageFacts& one) { return one.labels.at("cupel.image.go"); })
      ->id;
}

worker::RunRequest SandboxTest::go(const std::string& toolchain_image,
                                   std::vector<std::string> command) {
  worker::RunRequest request = shell("");
  request.image = toolchain_image;
  request.command = std::move(command);
  request.limits = RunLimits{};
  request.limit = std::chrono::seconds(300);
  return request;
}

std::vector<docker::ContainerSummary> SandboxTest::our_containers() {
  std::vector<std::string> labels{std::string(worker::label::kFleet) + "=" + fleet.text()};
  const auto listed = await(io, engine->list(std::move(labels)));
  EXPECT_TRUE(listed) << listed.error().text();
  return listed ? *listed : std::vector<docker::ContainerSummary>{};
}

}  // namespace cupel::test
