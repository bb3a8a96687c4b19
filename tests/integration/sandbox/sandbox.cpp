#include "tests/integration/sandbox/sandbox.hpp"

#include "common/fs/files.hpp"
#include "worker/core/engine/seccomp.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::test {

namespace {

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
  std::ifstream file(kBusyboxOfHost, std::ios::binary);
  const std::string busybox((std::istreambuf_iterator<char>(file)), {});
  std::string tar;
  for (const char* const dir :
       {"bin/", "etc/", "proc/", "sys/", "dev/", "usr/", "usr/bin/", "root/"}) {
    tar += tar_entry(dir, '5', 0755, {});
  }
  tar += tar_entry("tmp/", '5', 01777, {});
  tar += tar_entry("bin/busybox", '0', 0755, busybox);
  for (const std::string& name : busybox_names())
    tar += tar_entry("bin/" + name, '2', 0777, {}, "busybox");
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

void SandboxLab::set_up() {
  if (wanted_.socket.empty()) {
    std::map<std::string, std::string> environment;
    if (const char* const named = std::getenv("DOCKER_HOST")) environment["DOCKER_HOST"] = named;
    const Result<std::string> found = docker::find_socket(environment);
    ASSERT_TRUE(found) << "these tests need an engine: " << found.error().text();
    wanted_.socket = *found;
  }
  engine = std::make_unique<docker::Client>(io.get_executor(),
                                            docker::ClientOptions{.socket_path = wanted_.socket});
  const auto version = await(io, engine->negotiate());
  ASSERT_TRUE(version) << version.error().text();
  quirks_ = engine::quirks_of(*version);
  const auto info = await(io, engine->info());
  ASSERT_TRUE(info) << info.error().text();
  engine_cpus_ = info->cpus;
  write_file(scratch.path() + "/seccomp.json", worker::seccomp_profile());
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
  rebuild(options());
}

void SandboxLab::tear_down() {
  if (!engine) return;
  for (const docker::ContainerSummary& container : our_containers()) {
    ADD_FAILURE() << "left behind: " << container.name << " (" << container.state << ")";
    (void)await(io, engine->remove(container.id));
  }
  if (image.empty()) return;
  const auto removed = await(io, engine->image_remove("cupel-test/busybox:" + tag_));
  EXPECT_TRUE(removed) << removed.error().text();
}

worker::ExecutorOptions SandboxLab::options() const {
  worker::ExecutorOptions all;
  all.context.fleet = fleet;
  all.context.worker = WorkerId{11};
  all.context.incarnation = Incarnation{1};
  all.context.wrapper_path = std::string(CUPEL_BINARY_DIR) + "/bin/cupel-init";
  all.context.goproxy = "https://proxy.invalid";
  all.context.gosumdb = "sum.invalid";
  all.context.quirks = quirks_;
  all.context.engine_cpus = engine_cpus_;
  all.context.seccomp_file = scratch.path() + "/seccomp.json";
  if (!wanted_.execute_runtime.empty())
    all.context.runtimes.emplace(worker::Profile::execute, wanted_.execute_runtime);
  all.mount_budget.reserve_bytes = 1U << 20U;
  all.dump_grace = std::chrono::seconds(1);
  return all;
}

void SandboxLab::rebuild(worker::ExecutorOptions options) {
  executor =
      std::make_unique<worker::RunExecutor>(io.get_executor(), *engine, files, std::move(options));
}

void SandboxLab::set_mount_budget(std::optional<std::uint64_t> bytes,
                                  std::optional<std::uint64_t> inodes) {
  worker::ExecutorOptions tight = options();
  tight.mount_budget.bytes = bytes.value_or(tight.mount_budget.bytes);
  tight.mount_budget.inodes = inodes.value_or(tight.mount_budget.inodes);
  rebuild(std::move(tight));
}

std::vector<std::string> SandboxLab::left_behind() {
  std::vector<std::string> all;
  for (const docker::ContainerSummary& container : our_containers())
    all.push_back(container.name + " (" + container.state + ")");
  return all;
}

std::string SandboxLab::toolchain(const std::string& with_compiler) {
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

worker::RunRequest SandboxLab::go(const std::string& toolchain_image,
                                  std::vector<std::string> command) {
  worker::RunRequest request = shell("");
  request.image = toolchain_image;
  request.command = std::move(command);
  request.limits = RunLimits{};
  request.limit = std::chrono::seconds(300);
  return request;
}

std::vector<docker::ContainerSummary> SandboxLab::our_containers() {
  std::vector<std::string> labels{std::string(worker::label::kFleet) + "=" + fleet.text()};
  const auto listed = await(io, engine->list(std::move(labels)));
  EXPECT_TRUE(listed) << listed.error().text();
  return listed ? *listed : std::vector<docker::ContainerSummary>{};
}

}  // namespace cupel::test
