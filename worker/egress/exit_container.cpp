#include "worker/egress/exit_container.hpp"

#include "common/async/no_throw.hpp"
#include "common/engine/log_frames.hpp"
#include "worker/egress/exit_streams.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <spdlog/spdlog.h>

#include <deque>
#include <optional>
#include <utility>

namespace cupel::worker::egress {

namespace asio = boost::asio;

namespace {

constexpr Duration kSayLimit = std::chrono::seconds(15);   // to its first word, and to a look's
constexpr Duration kTakeLimit = std::chrono::seconds(30);  // for the engine to take a frame

Error lost(std::string what, Errc code) {
  return {.code = code, .what = std::move(what), .detail = {}, .hint = {}};
}

}  // namespace

struct ExitContainer::State {
  State(asio::any_io_executor on, docker::Client& client, Proxy& proxy, std::string peer)
      : executor(std::move(on)),
        engine(client),
        streams(std::make_shared<ExitStreams>(executor, proxy, std::move(peer),
                                              [this](ExitMessage message) {
                                                unsent.push_back(encode_exit(message));
                                                to_send.cancel();
                                              })),
        to_send(executor, asio::steady_timer::time_point::max()),
        changed(executor, asio::steady_timer::time_point::max()) {}

  asio::any_io_executor executor;
  docker::Client& engine;
  std::shared_ptr<ExitStreams> streams;
  std::string id;
  docker::Attachment attachment;
  std::deque<std::string> unsent;
  std::optional<ExitSeen> seen;
  bool gone = false;  ///< Nothing comes or goes any more.
  std::size_t parts = 0;
  asio::steady_timer to_send;
  asio::steady_timer changed;  ///< Cancelled when `seen`, `gone` or `parts` may have changed.

  void end() {
    gone = true;
    attachment.close();
    streams->stop();
    to_send.cancel();
    changed.cancel();
  }

  /// False: what it said can't be from our program.
  [[nodiscard]] bool take(ExitMessage message) {
    if (message.kind != ExitFrame::seen) return streams->take(std::move(message));
    auto said = parse_exit_seen(message.payload);
    if (!said) return false;
    seen = *std::move(said);
    changed.cancel();
    return true;
  }
};

namespace {

using StatePtr = std::shared_ptr<ExitContainer::State>;

asio::awaitable<void> hear(StatePtr state) {
  ExitReader reader;
  bool good = true;
  engine::LogFrames frames([&](Stream stream, std::string_view bytes) {
    if (stream != Stream::out || !good) return;
    auto messages = reader.feed(bytes);
    good = messages.has_value();
    if (!good) return;
    for (ExitMessage& message : *messages) good = good && state->take(std::move(message));
  });
  while (good && !state->gone) {
    const Result<std::string> piece = co_await state->attachment.read();
    if (!piece || piece->empty()) break;
    frames.feed(*piece);
    good = good && !frames.malformed();
  }
  if (!good) spdlog::error("egress: an exit container said what none says");
  state->end();
}

asio::awaitable<void> say(StatePtr state) {
  while (!state->gone) {
    if (state->unsent.empty()) {
      (void)co_await state->to_send.async_wait(kNoThrow);
      continue;
    }
    std::string bytes;
    while (!state->unsent.empty() && bytes.size() < kExitPayloadBytesMax) {
      bytes += state->unsent.front();
      state->unsent.pop_front();
    }
    const Result<void> sent = co_await state->attachment.send(std::move(bytes), kTakeLimit);
    if (!sent) state->end();
  }
}

void spawn_part(const StatePtr& state, asio::awaitable<void> part) {
  ++state->parts;
  asio::co_spawn(state->executor, std::move(part), [state](const std::exception_ptr& failure) {
    --state->parts;
    if (failure) {
      spdlog::error("egress: a part of an exit container ended with an exception");
      state->end();
    }
    state->changed.cancel();
  });
}

/// Its next word on its namespace.
asio::awaitable<Result<ExitSeen>> next_seen(StatePtr state) {
  const TimePoint give_up = std::chrono::steady_clock::now() + kSayLimit;
  while (!state->seen && !state->gone && std::chrono::steady_clock::now() < give_up) {
    state->changed.expires_at(
        std::chrono::time_point_cast<std::chrono::steady_clock::duration>(give_up));
    (void)co_await state->changed.async_wait(kNoThrow);
  }
  if (state->seen) co_return *std::exchange(state->seen, std::nullopt);
  if (state->gone) co_return lost("a run's exit container is gone", Errc::engine_unreachable);
  co_return lost("a run's exit container says nothing", Errc::engine_timeout);
}

asio::awaitable<Result<ExitSeen>> start(StatePtr state) {
  auto attached = co_await state->engine.attach(state->id);
  if (!attached) co_return attached.error();
  state->attachment = *std::move(attached);
  const auto started = co_await state->engine.start(state->id);
  if (!started) co_return started.error();
  spawn_part(state, hear(state));
  spawn_part(state, say(state));
  co_return co_await next_seen(state);
}

asio::awaitable<Result<void>> end_and_remove(StatePtr state) {
  state->end();
  Result<void> removed;
  if (!state->id.empty()) removed = co_await state->engine.remove(state->id);
  while (state->parts > 0) {
    state->changed.expires_at(asio::steady_timer::time_point::max());
    (void)co_await state->changed.async_wait(kNoThrow);
  }
  co_await state->streams->join();
  co_return removed;
}

}  // namespace

ExitContainer::ExitContainer(asio::any_io_executor executor, docker::Client& engine, Proxy& proxy,
                             std::string peer)
    : state_(std::make_shared<State>(std::move(executor), engine, proxy, std::move(peer))) {}
ExitContainer::~ExitContainer() {
  state_->end();
}

const std::string& ExitContainer::id() const {
  return state_->id;
}

asio::awaitable<Result<ExitSeen>> ExitContainer::open(std::string name, std::string spec) {
  const StatePtr state = state_;
  auto created = co_await state->engine.create(std::move(name), std::move(spec));
  // One that was made though the answer was lost is the reaper's.
  if (!created) co_return created.error();
  state->id = created->id;
  Result<ExitSeen> seen =
      lost("the engine can't hold a container to its limits", Errc::unsafe_sandbox);
  if (!engine::dropped_limit(created->warnings)) seen = co_await start(state);
  if (!seen) {
    const auto removed = co_await end_and_remove(state);
    if (!removed) spdlog::warn("egress: {}", removed.error().text());
  }
  co_return seen;
}

asio::awaitable<Result<ExitSeen>> ExitContainer::look() {
  const StatePtr state = state_;
  state->seen.reset();
  state->unsent.push_back(encode_exit({ExitFrame::look, 0}));
  state->to_send.cancel();
  co_return co_await next_seen(state);
}

asio::awaitable<Result<void>> ExitContainer::close() {
  co_return co_await end_and_remove(state_);
}

}  // namespace cupel::worker::egress
