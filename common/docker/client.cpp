#include "common/docker/client.hpp"

#include "common/async/no_throw.hpp"
#include "common/crash/crash_point.hpp"
#include "common/docker/client_impl.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <chrono>
namespace cupel::docker {

namespace asio = boost::asio;
using detail::Answer;
using detail::Request;

namespace {

constexpr std::size_t kListBytesMax = std::size_t{32} << 20U;  // 10,000 containers of 3 KiB
constexpr std::uint64_t kLogBytesPerExtraSecond = 10ULL << 20U;
constexpr unsigned kRemoveTries = 3;
constexpr int kPausesPerLook = 20;

Request version_request() {
  return {.what = "version", .method = "GET", .target = "/version", .repeatable = true};
}

Error took_too_long(const std::string& what) {
  return {.code = Errc::engine_timeout,
          .what = what + ": it was not gone in time",
          .detail = {},
          .hint = {}};
}

/// False when the coroutine was cancelled.
Awaitable<bool> pause_for(Duration time) {
  asio::steady_timer timer(co_await asio::this_coro::executor,
                           std::chrono::ceil<std::chrono::steady_clock::duration>(time));
  const auto [ec] = co_await timer.async_wait(kNoThrow);
  co_return !ec;
}

}  // namespace

std::string_view name(CallOutcome outcome) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "ok", "refused", "timeout", "unreachable", "protocol", "cancelled"};
  return kNames.at(static_cast<std::size_t>(outcome));
}

// ---- Client::Impl ------------------------------------------------------------------------------

std::string Client::Impl::target(std::string_view path) const {
  return "/v" + api.text() + std::string(path);
}

void Client::Impl::observe(std::string_view call, TimePoint started,
                           const std::optional<Error>& error) const {
  if (!options.observer) return;
  CallOutcome outcome = CallOutcome::ok;
  if (error) {
    switch (error->code) {
      case Errc::engine_timeout: outcome = CallOutcome::timeout; break;
      case Errc::engine_unreachable: outcome = CallOutcome::unreachable; break;
      case Errc::engine_protocol: outcome = CallOutcome::protocol; break;
      case Errc::cancelled: outcome = CallOutcome::cancelled; break;
      default: outcome = CallOutcome::refused; break;
    }
  }
  options.observer(
      {.call = call, .outcome = outcome, .elapsed = std::chrono::steady_clock::now() - started});
}

Awaitable<Result<Answer>> Client::Impl::short_call(std::shared_ptr<Impl> self, Request request) {
  const auto started = std::chrono::steady_clock::now();
  asio::steady_timer timer(self->executor,
                           std::chrono::ceil<std::chrono::steady_clock::duration>(request.budget));
  async::Permit permit = self->calls.try_acquire();
  if (!permit) {
    using namespace asio::experimental::awaitable_operators;
    auto first = co_await (self->calls.acquire() || timer.async_wait(kNoThrow));
    if (first.index() == 1) {
      co_return Error{.code = Errc::engine_timeout,
                      .what = request.what + ": too many calls to the engine are under way",
                      .detail = {},
                      .hint = {}};
    }
    permit = std::move(std::get<0>(first));
    if (!permit) {
      co_return Error{
          .code = Errc::cancelled, .what = request.what + ": cancelled", .detail = {}, .hint = {}};
    }
  }
  const TimePoint give_up = started + request.budget;
  request.budget = give_up - std::chrono::steady_clock::now();
  if (request.source) {
    co_return co_await detail::exchange(self->options.socket_path, std::move(request));
  }
  const std::string spoken = self->target("");
  Result<Answer> answer = co_await detail::exchange(self->options.socket_path, request);
  if (!answer || !engine::wants_other_version(answer->status, answer->body) ||
      !request.target.starts_with(spoken + "/")) {
    co_return answer;
  }
  // The engine was upgraded while we spoke to it. Nothing was done, so the call can be made again.
  Request ask = version_request();
  ask.budget = give_up - std::chrono::steady_clock::now();
  const Result<Answer> version = co_await detail::exchange(self->options.socket_path, ask);
  if (!version || version->status != 200) co_return answer;
  const Result<EngineVersion> agreed = engine::parse_version(version->body);
  if (!agreed) co_return agreed.error();
  if (agreed->api == self->api && self->target("") == spoken) co_return answer;
  self->api = agreed->api;
  request.target.replace(0, spoken.size(), self->target(""));
  request.budget = give_up - std::chrono::steady_clock::now();
  co_return co_await detail::exchange(self->options.socket_path, std::move(request));
}

// ---- Client ------------------------------------------------------------------------------------

Client::Client(asio::any_io_executor executor, ClientOptions options)
    : impl_(std::make_shared<Impl>(std::move(executor), std::move(options))) {}
Client::~Client() = default;

const ClientOptions& Client::options() const {
  return impl_->options;
}

Awaitable<Result<void>> Client::ping() {
  Request request{.what = "ping", .method = "GET", .target = "/_ping", .repeatable = true};
  request.budget = impl_->options.budgets.ping;
  CUPEL_CRASH_POINT("engine.ping");
  co_return co_await Impl::exchange(impl_, "ping", std::move(request), [](const Answer& answer) {
    return engine::plain_status(answer.status, answer.body, "ping");
  });
}

Awaitable<Result<EngineVersion>> Client::negotiate() {
  Request request = version_request();
  request.budget = impl_->options.budgets.version;
  CallOf call(impl_, "version");
  CUPEL_CRASH_POINT("engine.version");
  const Result<Answer> answer = co_await Impl::short_call(impl_, std::move(request));
  if (!answer) co_return call.failed(answer.error());
  const Result<void> status = engine::plain_status(answer->status, answer->body, "version");
  if (!status) co_return call.failed(status.error());
  Result<EngineVersion> version = engine::parse_version(answer->body);
  if (version) impl_->api = version->api;
  co_return call.done(std::move(version));
}

Awaitable<Result<EngineInfo>> Client::info() {
  Request request{
      .what = "info", .method = "GET", .target = impl_->target("/info"), .repeatable = true};
  request.budget = impl_->options.budgets.version;
  request.body_bytes_max = kListBytesMax;
  CUPEL_CRASH_POINT("engine.info");
  co_return co_await Impl::exchange(impl_, "info", std::move(request), [](const Answer& answer) {
    return parsed_body(answer, engine::plain_status(answer.status, answer.body, "info"),
                       engine::parse_info);
  });
}

Awaitable<Result<Created>> Client::create(std::string container_name, std::string body) {
  if (!engine::is_container_ref(container_name)) co_return bad_container_ref(container_name);
  Request request{.what = "create " + container_name,
                  .method = "POST",
                  .target = impl_->target("/containers/create?name=" + container_name),
                  .body = std::move(body)};
  request.budget = impl_->options.budgets.create;
  const std::string what = request.what;
  CallOf call(impl_, "create");
  CUPEL_CRASH_POINT("engine.create");
  const Result<Answer> answer = co_await Impl::short_call(impl_, std::move(request));
  CUPEL_CRASH_POINT("engine.create.answered");
  if (!answer) co_return call.failed(answer.error());
  const Result<void> status = engine::create_status(answer->status, answer->body, what);
  if (!status) co_return call.failed(status.error());
  co_return call.done(engine::parse_created(answer->body));
}

Awaitable<Result<void>> Client::start(std::string container) {
  if (!engine::is_container_ref(container)) co_return bad_container_ref(container);
  Request request{.what = "start " + short_ref(container),
                  .method = "POST",
                  .target = impl_->target("/containers/" + container + "/start")};
  request.budget = impl_->options.budgets.start;
  request.repeatable = true;
  const std::string what = request.what;
  CallOf call(impl_, "start");
  CUPEL_CRASH_POINT("engine.start");
  const Result<Answer> answer = co_await Impl::short_call(impl_, std::move(request));
  CUPEL_CRASH_POINT("engine.start.answered");
  if (!answer) co_return call.failed(answer.error());
  co_return call.done(engine::start_status(answer->status, answer->body, what));
}

Awaitable<Result<WaitAnswer>> Client::wait(std::string container, Duration body_limit) {
  if (!engine::is_container_ref(container)) co_return bad_container_ref(container);
  Request request{
      .what = "wait " + short_ref(container),
      .method = "POST",
      .target = impl_->target("/containers/" + container + "/wait?condition=not-running")};
  request.budget = impl_->options.budgets.wait_head;
  request.body_budget = body_limit;
  const std::string what = request.what;
  CallOf call(impl_, "wait");
  CUPEL_CRASH_POINT("engine.wait");
  const Result<Answer> answer =
      co_await detail::exchange(impl_->options.socket_path, std::move(request));
  if (!answer) co_return call.failed(answer.error());
  const Result<void> status = engine::plain_status(answer->status, answer->body, what);
  if (!status) co_return call.failed(status.error());
  co_return call.done(engine::parse_wait(answer->body));
}

Awaitable<Result<void>> Client::kill(std::string container, std::string signal) {
  if (!engine::is_container_ref(container)) co_return bad_container_ref(container);
  Request request{.what = "kill " + short_ref(container),
                  .method = "POST",
                  .target = impl_->target("/containers/" + container +
                                          "/kill?signal=" + engine::url_escape(signal))};
  request.budget = impl_->options.budgets.kill;
  request.repeatable = true;
  const std::string what = request.what;
  CallOf call(impl_, "kill");
  CUPEL_CRASH_POINT("engine.kill");
  const Result<Answer> answer = co_await Impl::short_call(impl_, std::move(request));
  CUPEL_CRASH_POINT("engine.kill.answered");
  if (!answer) co_return call.failed(answer.error());
  co_return call.done(engine::kill_status(answer->status, answer->body, what));
}

Awaitable<LogEnd> Client::logs(std::string container, std::uint64_t bytes_max,
                               engine::LogFrames::Sink sink) {
  if (!engine::is_container_ref(container)) co_return LogEnd{.error = bad_container_ref(container)};
  std::uint64_t seen = 0;
  engine::LogFrames frames([&seen, &sink](Stream stream, std::string_view bytes) {
    seen += bytes.size();
    sink(stream, bytes);
  });
  Request request{
      .what = "logs " + short_ref(container),
      .method = "GET",
      .target = impl_->target("/containers/" + container + "/logs?stdout=1&stderr=1&follow=0")};
  request.budget =
      impl_->options.budgets.logs + std::chrono::seconds(bytes_max / kLogBytesPerExtraSecond);
  request.repeatable = true;
  request.sink = [&](std::string_view bytes) -> Result<bool> {
    frames.feed(bytes);
    return !frames.malformed() && seen <= bytes_max;
  };
  const std::string what = request.what;
  CallOf call(impl_, "logs");
  CUPEL_CRASH_POINT("engine.logs");
  const Result<Answer> answer = co_await Impl::short_call(impl_, std::move(request));
  LogEnd end;
  if (!answer) {
    end.error = answer.error();
  } else if (const Result<void> status = engine::plain_status(answer->status, answer->body, what);
             !status) {
    end.error = status.error();
  } else if (frames.malformed()) {
    end.error = Error{.code = Errc::engine_protocol,
                      .what = what + (frames.engine_words().empty()
                                          ? ": bytes that are no log frame"
                                          : ": an error of the engine instead of output"),
                      .detail = capped_detail(frames.engine_words()),
                      .hint = {}};
  } else {
    end.stopped = answer->stopped;
    end.complete = !end.stopped && !frames.mid_frame();
  }
  if (end.error) {
    end.error = call.failed(*end.error);
  } else {
    call.succeeded();
  }
  co_return end;
}

Awaitable<Result<ContainerState>> Client::inspect(std::string container) {
  if (!engine::is_container_ref(container)) co_return bad_container_ref(container);
  Request request{.what = "inspect " + short_ref(container),
                  .method = "GET",
                  .target = impl_->target("/containers/" + container + "/json")};
  request.budget = impl_->options.budgets.inspect;
  request.repeatable = true;
  request.body_bytes_max = std::size_t{1} << 20U;
  const std::string what = request.what;
  CUPEL_CRASH_POINT("engine.inspect");
  co_return co_await Impl::exchange(
      impl_, "inspect", std::move(request), [what](const Answer& answer) {
        return parsed_body(answer, engine::plain_status(answer.status, answer.body, what),
                           engine::parse_container);
      });
}

Awaitable<Result<void>> Client::remove(std::string container, bool force) {
  if (!engine::is_container_ref(container)) co_return bad_container_ref(container);
  const TimePoint give_up = std::chrono::steady_clock::now() + impl_->options.budgets.remove;
  const std::string what = "remove " + short_ref(container);
  CallOf call(impl_, "remove");
  Duration pause = impl_->options.retry_pause;
  for (unsigned failures = 0;;) {
    Request request{
        .what = what,
        .method = "DELETE",
        .target = impl_->target("/containers/" + container + (force ? "?force=1&v=1" : "?v=1")),
        .repeatable = true};
    request.budget = give_up - std::chrono::steady_clock::now();
    CUPEL_CRASH_POINT("engine.remove");
    const Result<Answer> answer = co_await Impl::short_call(impl_, std::move(request));
    CUPEL_CRASH_POINT("engine.remove.answered");
    if (!answer) co_return call.failed(answer.error());
    const Result<engine::Removal> removal =
        engine::remove_status(answer->status, answer->body, what);
    if (removal && *removal == engine::Removal::gone) co_return call.done(Result<void>());
    if (removal) {
      // Somebody else's removal is under way; only its end is an answer. One that fails may never
      // tell, so the engine is asked again now and then.
      const Duration left = give_up - std::chrono::steady_clock::now();
      Request gone{.what = what,
                   .method = "POST",
                   .target = impl_->target("/containers/" + container + "/wait?condition=removed")};
      gone.budget = std::min<Duration>(left, impl_->options.retry_pause * kPausesPerLook);
      const Result<Answer> waited =
          co_await detail::exchange(impl_->options.socket_path, std::move(gone));
      if (waited && (waited->status == 404 || waited->status / 100 == 2)) {
        co_return call.done(Result<void>());
      }
      if (!waited && waited.error().code == Errc::cancelled) co_return call.failed(waited.error());
    } else if (answer->status < 500 || ++failures >= kRemoveTries) {
      co_return call.failed(removal.error());
    }
    // What keeps it is often a mount that is free moments later.
    if (std::chrono::steady_clock::now() + pause >= give_up) {
      co_return call.failed(removal ? took_too_long(what) : removal.error());
    }
    if (!co_await pause_for(pause)) {
      co_return call.failed(
          {.code = Errc::cancelled, .what = what + ": cancelled", .detail = {}, .hint = {}});
    }
    pause *= 2;
  }
}

Awaitable<Result<std::vector<ContainerSummary>>> Client::list(std::vector<std::string> labels) {
  Request request{
      .what = "list",
      .method = "GET",
      .target = impl_->target("/containers/json?all=1&filters=" + label_filter(labels))};
  request.budget = impl_->options.budgets.list;
  request.repeatable = true;
  request.body_bytes_max = kListBytesMax;
  CUPEL_CRASH_POINT("engine.list");
  co_return co_await Impl::exchange(impl_, "list", std::move(request), [](const Answer& answer) {
    return parsed_body(answer, engine::plain_status(answer.status, answer.body, "list"),
                       engine::parse_containers);
  });
}

Awaitable<Result<bool>> Client::has_path(std::string container, std::string path) {
  if (!engine::is_container_ref(container)) co_return bad_container_ref(container);
  Request request{.what = "inspect " + short_ref(container),
                  .method = "HEAD",
                  .target = impl_->target("/containers/" + container +
                                          "/archive?path=" + engine::url_escape(path))};
  request.budget = impl_->options.budgets.inspect;
  request.repeatable = true;
  const std::string what = request.what;
  CUPEL_CRASH_POINT("engine.has_path");
  co_return co_await Impl::exchange(
      impl_, "inspect", std::move(request), [what](const Answer& answer) -> Result<bool> {
        if (answer.status == 404) return false;
        const Result<void> status = engine::plain_status(answer.status, answer.body, what);
        if (!status) return status.error();
        return true;
      });
}

}  // namespace cupel::docker
