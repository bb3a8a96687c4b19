#include "worker/egress/exit_keeper.hpp"

#include "common/async/clock.hpp"
#include "common/async/with_budget.hpp"
#include "common/engine/log_frames.hpp"
#include "common/fs/files.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace cupel::worker::egress {

namespace asio = boost::asio;

namespace {

constexpr std::size_t kIdBytes = 8;
constexpr const char* kImageLabel = "cupel.image.go";
constexpr Duration kTrialLimit = std::chrono::minutes(2);
constexpr Duration kWitnessLimit = std::chrono::seconds(15);

Error not_closed(const std::string& found) {
  return {.code = Errc::unsafe_sandbox,
          .what = "the engine's network 'none' is not closed: " + found,
          .detail = {},
          .hint = {}};
}

/// All that an attached container says on its stdout; it ends by itself.
asio::awaitable<Result<std::string>> said_by(docker::Client& engine, std::string container) {
  auto attached = co_await engine.attach(container);
  if (!attached) co_return attached.error();
  const auto started = co_await engine.start(container);
  if (!started) co_return started.error();
  std::string said;
  engine::LogFrames frames([&said](Stream stream, std::string_view bytes) {
    if (stream == Stream::out && said.size() < kExitPayloadBytesMax) said += bytes;
  });
  for (;;) {
    const auto piece = co_await attached->read();
    if (!piece) co_return piece.error();
    if (piece->empty()) break;
    frames.feed(*piece);
  }
  if (said.ends_with('\n')) said.pop_back();
  co_return said;
}

}  // namespace

ExitKeeper::ExitKeeper(asio::any_io_executor executor, docker::Client& engine, Proxy& proxy,
                       ProfileContext context, Duration after_run)
    : executor_(std::move(executor)),
      engine_(engine),
      proxy_(proxy),
      context_(std::move(context)),
      after_run_(after_run) {}

RunIdentity ExitKeeper::identity_for(Duration limit) {
  const auto ends = std::chrono::duration_cast<std::chrono::microseconds>(limit + after_run_);
  return {.run_id = fs::random_hex(kIdBytes), .deadline = {async::wall_now().us + ends.count()}};
}

asio::awaitable<Result<std::string>> ExitKeeper::any_image() {
  // Nothing of it is run, so that one without our labels, pulled by its digest, does as well.
  const auto images = co_await engine_.image_list({});
  if (!images) co_return images.error();
  const auto ours = std::ranges::find_if(
      *images, [](const auto& image) { return image.labels.contains(kImageLabel); });
  if (!images->empty()) co_return (ours == images->end() ? images->front() : *ours).id;
  co_return Error{.code = Errc::image_missing,
                  .what = "the engine holds no image to try an exit container with",
                  .detail = {},
                  .hint = "'cupel image build' makes one"};
}

asio::awaitable<Result<ExitSeen>> ExitKeeper::look_from(RunRequest request, std::string joined) {
  const RunIdentity identity = identity_for(kTrialLimit);
  auto spec = witness_spec(request, context_, identity, joined);
  if (!spec) co_return spec.error();
  live_.insert(identity.run_id);
  const auto created = co_await engine_.create(container_name(context_, identity), *spec);
  Result<std::string> said = std::string();
  if (created) {
    const auto watchdog = co_await async::with_budget(said_by(engine_, created->id), kWitnessLimit);
    said = watchdog ? *watchdog
                    : Result<std::string>(Error{.code = Errc::engine_timeout,
                                                .what = "a witness in a run's network says nothing",
                                                .detail = {},
                                                .hint = {}});
    const auto removed = co_await engine_.remove(created->id);
    if (!removed) spdlog::warn("egress: {}", removed.error().text());
  } else {
    said = created.error();
  }
  live_.erase(identity.run_id);
  if (!said) co_return said.error();
  co_return parse_exit_seen(*said);
}

/// The second view: an engine that doesn't do what it is asked for would show another namespace.
asio::awaitable<Result<void>> ExitKeeper::compare(RunRequest request, ExitSeen seen,
                                                  std::string joined) {
  if (!seen.enclosed()) co_return not_closed(seen.found);
  const auto other = co_await look_from(std::move(request), std::move(joined));
  if (!other) co_return other.error();
  if (other->network_namespace != seen.network_namespace) {
    co_return Error{.code = Errc::unsafe_sandbox,
                    .what = "a container that joins another's network is not in it",
                    .detail = {},
                    .hint = {}};
  }
  if (!other->enclosed()) co_return not_closed(other->found);
  co_return Result<void>();
}

asio::awaitable<Result<void>> ExitKeeper::try_out() {
  auto image = co_await any_image();
  if (!image) co_return image.error();
  RunRequest request;
  request.image = *std::move(image);
  request.profile = Profile::acquire;
  const RunIdentity identity = identity_for(kTrialLimit);
  const auto spec = exit_spec(request, context_, identity, "");
  if (!spec) co_return spec.error();
  live_.insert(identity.run_id);
  ExitContainer exit(executor_, engine_, proxy_, peer_of(""));
  auto seen = co_await exit.open(container_name(context_, identity), *spec);
  Result<void> good;
  if (seen) {
    good = co_await compare(std::move(request), *seen, exit.id());
    const auto closed = co_await exit.close();
    if (!closed && good) good = closed.error();
  } else {
    good = seen.error();
  }
  live_.erase(identity.run_id);
  co_return good;
}

asio::awaitable<Result<RunEgress>> ExitKeeper::open(RunRequest request, std::string run_id) {
  const auto runtime = context_.runtimes.find(request.profile);
  if (runtime != context_.runtimes.end()) {
    co_return Error{.code = Errc::unsafe_sandbox,
                    .what = "profile " + std::string(name(request.profile)) + " runs in " +
                            runtime->second + ", whose network an exit container can't hold",
                    .detail = {},
                    .hint = {}};
  }
  const RunIdentity identity = identity_for(request.limit);
  const auto spec = exit_spec(request, context_, identity, run_id);
  if (!spec) co_return spec.error();
  live_.insert(identity.run_id);
  auto container = std::make_unique<ExitContainer>(executor_, engine_, proxy_, peer_of(run_id));
  auto seen = co_await container->open(container_name(context_, identity), *spec);
  if (seen && (!seen->enclosed() || seen->port == 0)) {
    const auto closed = co_await container->close();
    if (!closed) spdlog::warn("egress: {}", closed.error().text());
    seen = not_closed(seen->found);
  }
  if (!seen) {
    live_.erase(identity.run_id);
    co_return seen.error();
  }
  RunEgress egress{.enforced = true,
                   .joined = container->id(),
                   .network_namespace = seen->network_namespace,
                   .proxy_url = "127.0.0.1:" + std::to_string(seen->port)};
  kept_[run_id] = {.id = identity.run_id, .container = std::move(container)};
  co_return egress;
}

asio::awaitable<Result<void>> ExitKeeper::close(std::string run_id) {
  auto node = kept_.extract(run_id);
  if (node.empty()) co_return Result<void>();
  const Kept kept = std::move(node.mapped());
  const auto seen = co_await kept.container->look();
  const auto closed = co_await kept.container->close();
  if (!closed) spdlog::warn("egress: {}", closed.error().text());
  live_.erase(kept.id);
  if (!seen) {
    co_return Error{.code = Errc::unsafe_sandbox,
                    .what = "nobody could look at the run's network after it",
                    .detail = seen.error().text(),
                    .hint = {}};
  }
  if (!seen->enclosed()) co_return not_closed(seen->found);
  co_return Result<void>();
}

}  // namespace cupel::worker::egress
