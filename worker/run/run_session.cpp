#include "worker/run/run_session.hpp"

#include "common/async/no_throw.hpp"
#include "worker/core/engine/exit_spec.hpp"
#include "worker/run/offload.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>

namespace cupel::worker {

namespace asio = boost::asio;
using std::chrono::steady_clock;

namespace {

constexpr int kLogReadsMax = 2;

}  // namespace

RunSession::RunSession(Host host, RunRequest request, RunIdentity identity, OutputSink output)
    : SessionBase({.executor = host.executor,
                   .files = host.files,
                   .mount_budget = host.options->mount_budget,
                   .watch_period = host.options->watch_period},
                  std::move(request)),
      host_(std::move(host)),
      identity_(std::move(identity)),
      sink_(std::move(output)) {}

RunSession::Step RunSession::prepare(const ImageTraits& image) {
  const ExecutorOptions& options = *host_.options;
  Result<std::string> spec = container_spec(request_, options.context, image, identity_);
  if (!spec) {
    fail(spec.error());
    co_return false;
  }
  spec_ = std::move(*spec);
  WrapperOrders wanted = orders(options.wrapper_slack, options.dump_grace);
  auto keep = kept_variables(request_, options.context, image, identity_.egress);
  if (!keep) {
    fail(keep.error());
    co_return false;
  }
  wanted.keep = *std::move(keep);
  // An engine that drops what it was asked for would leave the run in another network.
  if (!identity_.egress.network_namespace.empty())
    wanted.links.push_back({identity_.egress.network_namespace, std::string(kNetworkLink)});
  struct Placed {
    Result<RunMarks> marks;
    WrapperOrders orders;
  };
  auto place = [request = request_, run_id = identity_.run_id,
                orders = std::move(wanted)]() mutable {
    auto marks = std::make_shared<Placed>(Placed{RunMarks(), std::move(orders)});
    marks->marks = RunMarks::place(request, run_id, marks->orders);
    return marks;
  };
  const std::shared_ptr<Placed> placed = co_await offload(*host_.files, std::move(place));
  if (!placed->marks) {
    fail(placed->marks.error());
    co_return false;
  }
  marks_ = std::move(*placed->marks);
  Result<std::string> encoded = encode_orders(placed->orders);
  if (!encoded) {
    fail(encoded.error());
    co_return false;
  }
  orders_ = std::move(*encoded);
  co_return true;
}

RunSession::Step RunSession::create(std::string spec) {
  const auto created = co_await host_.engine->create(
      container_name(host_.options->context, identity_), std::move(spec));
  if (created) {
    container_ = created->id;
    const std::optional<std::string> dropped = engine::dropped_limit(created->warnings);
    if (!dropped) co_return true;
    fail({.code = Errc::unsafe_sandbox,
          .what = "the engine can't hold a container to its limits",
          .detail = *dropped,
          .hint = {}});
    co_return false;
  }
  fail(created.error());
  const Errc code = created.error().code;
  if (code == Errc::image_missing || code == Errc::engine_refused || code == Errc::unsafe_sandbox) {
    co_return false;
  }
  parked_ = true;
  create_lost_ = co_await find_lost();
  co_return false;
}

/// The create may have happened, or may still happen: what is there now is found by its label, and
/// what appears later is the reaper's. False when the engine doesn't say.
RunSession::Step RunSession::find_lost() {
  const std::string by_run = std::string(label::kRun) + "=" + identity_.run_id;
  const std::vector<std::string> labels{by_run};
  const auto found = co_await host_.engine->list(labels);
  if (!found) {
    note(found.error());
    co_return false;
  }
  if (!found->empty()) container_ = found->front().id;
  co_return true;
}

RunSession::Step RunSession::begin() {
  Result<docker::Attachment> attached = co_await host_.engine->attach(container_);
  if (!attached) {
    fail(attached.error());
    co_return false;
  }
  attachment_ = std::move(*attached);
  output_ = std::make_unique<RunOutput>(nonce_, request_.limits.output_bytes, sink_);
  if (asked_) {
    report_.ended_by = *asked_;
    co_return false;
  }
  const Result<void> started = co_await host_.engine->start(container_);
  if (!started) {
    fail(started.error());
    co_return false;
  }
  started_at_ = steady_clock::now();
  const Result<void> sent =
      co_await attachment_.send(std::move(orders_), host_.options->times.orders);
  if (!sent) {
    fail(sent.error());
    ask(EndedBy::engine);  // it waits for orders that won't come
  }
  co_return true;
}

asio::awaitable<void> RunSession::read_output() {
  while (true) {
    const Result<std::string> piece = co_await attachment_.read();
    if (!piece || piece->empty()) break;
    output_->feed_frames(*piece);
  }
  output_ended_ = true;
}

/// The stored log, as the second source: the followed stream was cut, and this one still has the
/// head. Read a second time when its end is missing, which an engine may write late.
asio::awaitable<void> RunSession::read_stored() {
  std::optional<Error> failed;
  for (int read = 0; read < kLogReadsMax; ++read) {
    if (read > 0) {
      ++report_.log_rereads;
      asio::steady_timer timer(
          host_.executor, std::chrono::ceil<steady_clock::duration>(host_.options->times.again));
      (void)co_await timer.async_wait(kNoThrow);
    }
    auto stored = std::make_unique<RunOutput>(nonce_, request_.limits.output_bytes, OutputSink());
    const docker::LogEnd end = co_await host_.engine->logs(
        container_, log_bytes_bound(request_.limits),
        [&stored](Stream stream, std::string_view bytes) { stored->feed_payload(stream, bytes); });
    if (end.error) note(*end.error);
    failed = end.error;
    stored->finish();
    // An error behind the end trailer takes nothing away.
    if (stored->report() && stored->started()) {
      output_ = std::move(stored);
      co_return;
    }
    if (end.stopped) break;  // more than it can hold: its head is gone for good
  }
  if (failed) fail(*failed);
}

/// What the container left: the rest of its output, its state.
asio::awaitable<void> RunSession::collect() {
  const TimePoint give_up = steady_clock::now() + host_.options->times.output_tail;
  while (!output_ended_ && steady_clock::now() < give_up) co_await sleep_until(give_up);
  attachment_.close();
  output_->finish();
  if (ended_ && (!output_->report() || output_->broken())) co_await read_stored();
  const auto state = co_await host_.engine->inspect(container_);
  if (!state) {
    note(state.error());
    co_return;
  }
  report_.engine_oom_killed = state->oom_killed;
  // An engine that tells the wait of an end and still lets it run can't be believed.
  if (ended_) take_end(state->running ? -1 : state->exit_code);
}

asio::awaitable<void> RunSession::clean_up() {
  stop_watch();
  stop_waits_.emit(asio::cancellation_type::terminal);
  stop_looks_.emit(asio::cancellation_type::terminal);
  attachment_.close();
  if (!container_.empty()) {
    const Result<void> removed = co_await host_.engine->remove(container_);
    if (removed) {
      parked_ = false;  // names are unique: it can't appear again
    } else {
      note(removed.error());
      parked_ = true;
    }
  }
  co_await join_parts();
  marks_.remove();
}

/// Who ended it, and whether what was seen can be explained.
void RunSession::judge() {
  if (asked_) report_.ended_by = *asked_;
  if (!output_) return;
  const std::optional<WrapperReport> end = output_->report();
  output_->fill(report_);
  if (!end) {
    if (asked_ || started_at_ == TimePoint{}) return;
    report_.ended_by = EndedBy::engine;
    // An engine that answered all the time did not end it, and neither did we.
    report_.killed_unasked = ended_ && !report_.error && report_.wait_breaks == 0 &&
                             report_.engine_exit_code == kKilledCode;
    return;
  }
  judge_trailer(*end, {.place = "the container",
                       .where = " (engine socket " + host_.engine->options().socket_path + ")",
                       .lost_stdin = {.code = Errc::engine_unreachable,
                                      .what = "the connection to the container broke while it ran",
                                      .detail = {},
                                      .hint = {}}});
}

asio::awaitable<void> RunSession::drive(ImageTraits image) {
  const std::shared_ptr<SessionBase> self = shared_from_this();
  const bool prepared = co_await prepare(image);
  const bool created = prepared && !asked_ && co_await create(std::move(spec_));
  if (created && co_await begin()) {
    spawn(read_output());
    spawn(wait_for_end(), stop_waits_.slot());
    spawn(look_for_end(), stop_looks_.slot());
    spawn(watch_mounts());
    co_await supervise();
    report_.wall = steady_clock::now() - started_at_;
    co_await collect();
  }
  co_await clean_up();
  judge();
}

}  // namespace cupel::worker
