#include "tests/bench/engines/contenders.hpp"

#include "common/bubblewrap/image_store.hpp"
#include "common/fs/files.hpp"
#include "common/images/builtin.hpp"
#include "common/images/select.hpp"
#include "worker/core/engine/seccomp.hpp"

#include <cstdlib>
#include <fstream>

namespace cupel::bench {

namespace {

Error missing(std::string what, std::string detail = {}) {
  return {
      .code = Errc::not_found, .what = std::move(what), .detail = std::move(detail), .hint = {}};
}

/// The oldest toolchain image with a C compiler, which most units get.
Result<engine::ImageFacts> toolchain(const Ground& ground, docker::Client& engine) {
  const auto listed = wait_for(ground.loop, engine.image_list({}));
  if (!listed) return listed.error();
  std::vector<images::EngineImage> all;
  for (const auto& facts : *listed)
    all.push_back({facts.id, facts.digests, {facts.labels.begin(), facts.labels.end()}});
  const auto known = images::match_images(images::builtin_table(), all);
  if (known.empty())
    return missing("the engine holds no toolchain image: 'cupel image build 1.24' makes one");
  for (const auto& facts : *listed) {
    if (facts.id == known.front().engine_id) return facts;
  }
  return missing("the engine's list changed");
}

Result<void> shell(const std::string& command) {
  if (std::system(command.c_str()) == 0) return {};
  return missing("'" + command + "' failed");
}

/// An image as the engine saves it, into another engine.
Result<void> copy_image(const Ground& ground, const std::string& image, const std::string& to) {
  return shell("curl -sf --unix-socket '" + ground.socket +
               "' 'http://engine/images/get?names=" + image + "' | curl -sf --unix-socket '" + to +
               "' -X POST -H 'Content-Type: application/x-tar' -T - "
               "'http://engine/images/load?quiet=1' >/dev/null");
}

worker::RunMounts mounts_below(const std::filesystem::path& dir) {
  worker::RunMounts mounts;
  mounts.source = dir / "src";
  mounts.gocache = dir / "gocache";
  std::filesystem::create_directories(mounts.source);
  std::filesystem::create_directories(mounts.gocache);
  std::filesystem::permissions(mounts.gocache, std::filesystem::perms(0777));
  std::ofstream(mounts.source + "/go.mod") << "module example.com/sum\n\ngo 1.22\n";
  std::ofstream(mounts.source + "/sum.go")
      << "package sum\n\nfunc Sum(a, b int) int { return a + b }\n";
  std::ofstream(mounts.source + "/sum_test.go")
      << "package sum\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n"
         "\tif got := Sum(2, 3); got != 5 {\n\t\tt.Fatalf(\"Sum(2, 3) = %d\", got)\n\t}\n}\n";
  return mounts;
}

worker::ProfileContext context_of(const Ground& ground) {
  worker::ProfileContext context;
  context.fleet = FleetId{1};
  context.worker = WorkerId{fs::random_u64() >> 1U | 1U};
  context.wrapper_path = ground.wrapper;
  return context;
}

Result<Contender> with_engine(Contender made, const Ground& ground, const std::string& socket) {
  made.engine = std::make_unique<docker::Client>(
      ground.loop.get_executor(),
      docker::ClientOptions{.socket_path = socket, .budgets = {}, .observer = {}});
  const auto version = wait_for(ground.loop, made.engine->negotiate());
  if (!version) return version.error();
  made.version = version->name + " " + version->version;
  docker::Client source(
      ground.loop.get_executor(),
      docker::ClientOptions{.socket_path = ground.socket, .budgets = {}, .observer = {}});
  const auto image = toolchain(ground, source);
  if (!image) return image.error();
  made.image = image->id;
  if (socket != ground.socket) {
    if (const auto copied = copy_image(ground, image->id, socket); !copied) return copied.error();
  }
  made.context.quirks = engine::quirks_of(*version);
  made.context.seccomp_file = ground.dir / "seccomp.json";
  std::ofstream(made.context.seccomp_file) << worker::seccomp_profile();
  worker::ExecutorOptions options;
  options.context = made.context;
  made.executor = std::make_unique<worker::RunExecutor>(ground.loop.get_executor(), *made.engine,
                                                        ground.files, std::move(options));
  auto traits = wait_for(ground.loop, made.executor->image_traits(made.image));
  if (!traits) return traits.error();
  made.traits = *std::move(traits);
  made.port = made.executor.get();
  return made;
}

/// The same root file system, unpacked.
Result<std::string> unpack_image(const Ground& ground, const std::string& store) {
  docker::Client source(
      ground.loop.get_executor(),
      docker::ClientOptions{.socket_path = ground.socket, .budgets = {}, .observer = {}});
  if (const auto agreed = wait_for(ground.loop, source.negotiate()); !agreed) return agreed.error();
  const auto image = toolchain(ground, source);
  if (!image) return image.error();
  const worker::RunIdentity nobody{.run_id = fs::random_hex(8), .deadline = {}};
  const worker::ProfileContext context = context_of(ground);
  const auto container =
      wait_for(ground.loop, source.create(worker::container_name(context, nobody),
                                          worker::inspection_spec(image->id, context, nobody)));
  if (!container) return container.error();
  auto writer = bubblewrap::ImageWriter::begin(store, image->id);
  Result<void> unpacked =
      writer ? shell("curl -sf --unix-socket '" + ground.socket + "' 'http://engine/containers/" +
                     container->id + "/export' | tar -x --exclude='dev/*' -C '" +
                     writer->root().string() + "'")
             : Result<void>(writer.error());
  (void)wait_for(ground.loop, source.remove(container->id));
  if (!unpacked) return unpacked.error();
  const auto finished = writer->finish({image->labels.begin(), image->labels.end()});
  if (!finished) return finished.error();
  return image->id;
}

Result<Contender> with_bubblewrap(Contender made, const Ground& ground) {
  auto host = worker::look_at_host("cupel-bench-" + fs::random_hex(4));
  if (!host) return host.error();
  worker::BubblewrapOptions options;
  options.context = made.context;
  options.image_dir = ground.dir / "images";
  auto image = unpack_image(ground, options.image_dir);
  if (!image) return image.error();
  made.image = *std::move(image);
  made.version = host->machine.program;
  made.sandboxes = std::make_unique<worker::BubblewrapRuns>(
      ground.loop.get_executor(), ground.files, *std::move(host), std::move(options));
  made.port = made.sandboxes.get();
  return made;
}

}  // namespace

Result<Contender> make_contender(const std::string& name, const Ground& ground) {
  Contender made;
  made.name = name;
  made.mounts = mounts_below(ground.dir / name);
  made.context = context_of(ground);
  if (name == "docker") return with_engine(std::move(made), ground, ground.socket);
  if (name == "bubblewrap") return with_bubblewrap(std::move(made), ground);
  auto own = test::OwnEngine::start(name);
  if (!own) return own.error();
  made.own.emplace(*std::move(own));
  if (name == "runsc") made.context.runtimes = {{worker::Profile::execute, "runsc"}};
  const std::string socket = made.own->socket();
  return with_engine(std::move(made), ground, socket);
}

}  // namespace cupel::bench
