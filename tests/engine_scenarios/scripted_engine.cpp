#include "tests/engine_scenarios/scripted_engine.hpp"

#include "common/async/no_throw.hpp"
#include "tests/engine_scenarios/connection.hpp"
#include "tests/engine_scenarios/model.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <set>
#include <unistd.h>

namespace cupel::scenarios {

namespace asio = boost::asio;
using Unix = asio::local::stream_protocol;
using Kind = Action::Kind;

namespace {

constexpr int kBacklog = 1024;

void rethrow(const std::exception_ptr& failure) {
  if (failure) std::rethrow_exception(failure);
}

/// Calls that change a container: two of them at once on the same one are a fault of the client.
bool changes_container(const RecordedCall& call) {
  return call.method == "DELETE" || call.path.ends_with("/start") || call.path.ends_with("/kill") ||
         call.path.ends_with("/stop");
}

std::string subject_of(const RecordedCall& call) {
  const std::string rest = call.path.substr(std::min<std::size_t>(call.path.size(), 12));
  return rest.substr(0, rest.find('/'));
}

}  // namespace

struct ScriptedEngine::State : std::enable_shared_from_this<State> {
  State(asio::io_context& io, std::string where, const EngineSetup& setup,
        const WorkerSetup& worker)
      : executor(io.get_executor()),
        path(std::move(where)),
        acceptor(io),
        up(io),
        model(std::make_shared<Model>(executor, setup, worker)),
        rules(setup.rules),
        seen(setup.rules.size()) {}

  asio::any_io_executor executor;
  std::string path;
  Unix::acceptor acceptor;
  asio::steady_timer up;  ///< Ends the time in which the engine is down.
  std::shared_ptr<Model> model;
  std::vector<Rule> rules;
  std::vector<std::uint64_t> seen;  ///< Matches of each rule so far.
  std::vector<RecordedCall> calls;
  std::set<ConnectionPtr> open;
  std::string overlap;
  bool stopped = false;

  void listen();
  void go_down(const Action& action, const ConnectionPtr& self);
  void note_overlap(const ConnectionPtr& connection);
  [[nodiscard]] Rule* rule_for(const RecordedCall& call);

  asio::awaitable<void> accept_all();
  asio::awaitable<void> come_up(Duration after);
  asio::awaitable<void> serve(ConnectionPtr connection);
  asio::awaitable<bool> act(ConnectionPtr connection, const std::vector<Action>* actions);
  asio::awaitable<bool> act_once(ConnectionPtr connection, const Action* action);
  asio::awaitable<bool> until(ConnectionPtr connection, std::string what);
  asio::awaitable<bool> healthy(ConnectionPtr connection, StreamWish wish);
  asio::awaitable<bool> healthy_wait(ConnectionPtr connection, ContainerPtr container);
  asio::awaitable<bool> stream(ConnectionPtr connection, ContainerPtr container, StreamWish wish,
                               bool follow);
  asio::awaitable<void> work_later(RecordedCall call, Duration after);
};

void ScriptedEngine::State::listen() {
  ::unlink(path.c_str());
  acceptor.open(Unix());
  acceptor.bind(Unix::endpoint(path));
  acceptor.listen(kBacklog);
  asio::co_spawn(executor, accept_all(), rethrow);
}

asio::awaitable<void> ScriptedEngine::State::accept_all() {
  const auto self = shared_from_this();
  while (true) {
    auto [ec, accepted] = co_await acceptor.async_accept(kNoThrow);
    if (ec) co_return;
    auto connection = std::make_shared<Connection>(std::move(accepted));
    open.insert(connection);
    asio::co_spawn(executor, serve(connection), rethrow);
  }
}

void ScriptedEngine::State::go_down(const Action& action, const ConnectionPtr& self) {
  boost::system::error_code ignored;
  acceptor.close(ignored);
  ::unlink(path.c_str());
  const std::set<ConnectionPtr> all = open;
  for (const ConnectionPtr& one : all) {
    if (action.word == "all" || one == self) one->close();
  }
  asio::co_spawn(executor, come_up(action.time), rethrow);
}

asio::awaitable<void> ScriptedEngine::State::come_up(Duration after) {
  const auto self = shared_from_this();
  up.expires_after(std::chrono::ceil<std::chrono::steady_clock::duration>(after));
  (void)co_await up.async_wait(kNoThrow);
  if (!stopped && !acceptor.is_open()) listen();
}

void ScriptedEngine::State::note_overlap(const ConnectionPtr& connection) {
  if (!changes_container(connection->call)) return;
  for (const ConnectionPtr& other : open) {
    if (other == connection || !changes_container(other->call)) continue;
    if (subject_of(other->call) != subject_of(connection->call) || other->client_gone()) continue;
    overlap = other->call.text() + " and " + connection->call.text();
  }
}

Rule* ScriptedEngine::State::rule_for(const RecordedCall& call) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (!matches(rules[i].on, call)) continue;
    const std::uint64_t before = seen[i]++;
    if (before < rules[i].skip || before - rules[i].skip >= rules[i].times) continue;
    return &rules[i];
  }
  return nullptr;
}

asio::awaitable<void> ScriptedEngine::State::serve(ConnectionPtr connection) {
  const auto self = shared_from_this();
  std::optional<RecordedCall> call = co_await connection->read_request();
  if (call && !stopped) {
    connection->call = std::move(*call);
    calls.push_back(connection->call);
    note_overlap(connection);
    asio::co_spawn(executor, connection->watch(), rethrow);
    const Rule* const rule = rule_for(connection->call);
    const bool goes_on = rule != nullptr ? co_await act(connection, &rule->actions)
                                         : co_await healthy(connection, StreamWish{});
    (void)goes_on;
  }
  connection->close();
  open.erase(connection);
}

/// False when nothing more is to be done on the connection.
asio::awaitable<bool> ScriptedEngine::State::act(ConnectionPtr connection,
                                                 const std::vector<Action>* actions) {
  for (const Action& action : *actions) {
    if (stopped || !co_await act_once(connection, &action)) co_return false;
  }
  co_return true;
}

asio::awaitable<void> ScriptedEngine::State::work_later(RecordedCall call, Duration after) {
  const auto self = shared_from_this();
  asio::steady_timer timer(executor, std::chrono::ceil<std::chrono::steady_clock::duration>(after));
  (void)co_await timer.async_wait(kNoThrow);
  if (!stopped) (void)model->handle(call);
}

asio::awaitable<bool> ScriptedEngine::State::act_once(ConnectionPtr connection,
                                                      const Action* action) {
  const ContainerPtr container = model->of(connection->call);
  const auto text = [&] { return Model::expand(action->bytes, container); };
  switch (action->kind) {
    case Kind::work:
      if (action->time > Duration{}) {
        asio::co_spawn(executor, work_later(connection->call, action->time), rethrow);
      } else {
        (void)model->handle(connection->call);
      }
      co_return true;
    case Kind::healthy: co_return co_await healthy(connection, action->stream);
    case Kind::answer:
    case Kind::head: {
      HttpAnswer answer = action->answer;
      answer.body = Model::expand(answer.body, container);
      if (action->kind == Kind::head) co_return co_await connection->write_head(std::move(answer));
      co_return co_await connection->write_answer(std::move(answer));
    }
    case Kind::bytes: co_return co_await connection->write(text());
    case Kind::chunk: {
      const bool before = std::exchange(connection->chunked, true);
      const bool written = co_await connection->write_body(text());
      connection->chunked = before;
      co_return written;
    }
    case Kind::last_chunk: co_return co_await connection->write("0\r\n\r\n");
    case Kind::frame:
      co_return co_await connection->write_body(
          Model::frame(action->frame_stream, text(), action->frame_length));
    case Kind::log:
      if (!container) co_return true;
      co_return co_await stream(connection, container, action->stream, false);
    case Kind::pause: {
      // Whether the client is still there or not: an engine that is slow goes on with its work.
      asio::steady_timer timer(
          executor, std::chrono::ceil<std::chrono::steady_clock::duration>(action->time));
      (void)co_await timer.async_wait(kNoThrow);
      co_return true;
    }
    case Kind::until: co_return co_await until(connection, action->word);
    case Kind::repeat:
      for (std::uint64_t i = 0; i < action->count; ++i) {
        if (!co_await act(connection, &action->body)) co_return false;
      }
      co_return true;
    case Kind::piece:
      connection->piece_bytes = action->count;
      connection->piece_pause = action->time;
      co_return true;
    case Kind::down: go_down(*action, connection); co_return false;
    case Kind::set:
      if (!action->api.empty() || !action->min_api.empty()) {
        model->set_versions(action->api, action->min_api);
      } else {
        model->apply(action->part, container);
      }
      co_return true;
    case Kind::upgrade: {
      if (!co_await connection->write(
              "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\n"
              "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n")) {
        co_return false;
      }
      if (container) connection->stdin_goes_to(container);
      co_return true;
    }
    case Kind::close: connection->close(); co_return false;
    case Kind::hang: co_await connection->until_over(); co_return false;
  }
  co_return false;
}

asio::awaitable<bool> ScriptedEngine::State::until(ConnectionPtr connection, std::string what) {
  const ContainerPtr container = model->of(connection->call);
  while (container && !stopped) {
    if (what == "ended" && !container->runs() && container->state != "created") break;
    if (what == "gone" && container->gone) break;
    if (what == "orders" && !container->nonce.empty()) break;
    co_await container->until_changed();
  }
  co_return true;
}

/// The frames of a container as they come (follow), or those that are there.
asio::awaitable<bool> ScriptedEngine::State::stream(ConnectionPtr connection,
                                                    ContainerPtr container, StreamWish wish,
                                                    bool follow) {
  std::uint64_t bytes_left = wish.bytes_max;
  std::uint64_t frames_left = wish.frames_max;
  std::size_t next = wish.skip_frames;
  while (!stopped && !connection->over()) {
    if (next < container->frames.size() && frames_left > 0 && bytes_left > 0) {
      std::string frame = container->frames[next++];
      frame.resize(std::min<std::uint64_t>(frame.size(), bytes_left));
      bytes_left -= frame.size();
      --frames_left;
      if (!co_await connection->write_body(std::move(frame))) co_return false;
      continue;
    }
    const bool cut = frames_left == 0 || bytes_left == 0;
    if (cut && wish.hang) {
      co_await connection->until_over();
      co_return false;
    }
    if (cut || !follow || (!container->runs() && container->state != "created")) co_return true;
    co_await container->until_changed();
  }
  co_return false;
}

asio::awaitable<bool> ScriptedEngine::State::healthy_wait(ConnectionPtr connection,
                                                          ContainerPtr container) {
  const auto asked = connection->call.query.find("condition");
  const std::string condition =
      asked == connection->call.query.end() ? "not-running" : asked->second;
  if (!co_await connection->write_head({.framing = Framing::chunked})) co_return false;
  const auto begun = container->finished;
  while (!stopped && !connection->over()) {
    const bool idle = !container->runs() && container->state != "removing";
    if (container->gone || (condition == "not-running" && idle) ||
        (condition == "next-exit" && idle && container->finished != begun)) {
      break;
    }
    co_await container->until_changed();
  }
  if (stopped || connection->over()) co_return false;
  co_return co_await connection->write_body(
      "{\"StatusCode\":" + std::to_string(container->exit_code) + "}\n") &&
      co_await connection->write("0\r\n\r\n");
}

asio::awaitable<bool> ScriptedEngine::State::healthy(ConnectionPtr connection, StreamWish wish) {
  const ContainerPtr container = model->of(connection->call);
  const Reply reply = model->handle(connection->call);
  const bool streams = container && reply.status < 300 && reply.body.empty();
  if (streams && connection->call.path.ends_with("/wait"))
    co_return co_await healthy_wait(connection, container);
  if (streams && connection->call.path.ends_with("/logs")) {
    if (!co_await connection->write_head(
            {.headers = {{"Content-Type", "application/vnd.docker.multiplexed-stream"}},
             .framing = Framing::chunked})) {
      co_return false;
    }
    co_return co_await stream(connection, container, wish, false) &&
        co_await connection->write("0\r\n\r\n");
  }
  if (reply.status == 101) {
    Action upgrade;
    upgrade.kind = Kind::upgrade;
    if (!co_await act_once(connection, &upgrade)) co_return false;
    co_return co_await stream(connection, container, wish, true);
  }
  co_return co_await connection->write_answer({.status = reply.status, .body = reply.body});
}

ScriptedEngine::ScriptedEngine(asio::io_context& io, std::string path, const EngineSetup& setup,
                               const WorkerSetup& worker)
    : state_(std::make_shared<State>(io, std::move(path), setup, worker)) {
  state_->listen();
}

ScriptedEngine::~ScriptedEngine() {
  stop();
}

const std::vector<RecordedCall>& ScriptedEngine::calls() const {
  return state_->calls;
}
std::size_t ScriptedEngine::containers() const {
  return state_->model->count();
}
std::size_t ScriptedEngine::running() const {
  return state_->model->running();
}
std::size_t ScriptedEngine::connections() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      state_->open, [](const ConnectionPtr& one) { return !one->client_gone(); }));
}
const std::string& ScriptedEngine::overlap() const {
  return state_->overlap;
}
void ScriptedEngine::apply(const ContainerPart& part) {
  state_->model->apply(part, nullptr);
}

void ScriptedEngine::stop() {
  state_->stopped = true;
  boost::system::error_code ignored;
  state_->acceptor.close(ignored);
  state_->up.cancel();
  ::unlink(state_->path.c_str());
  const std::set<ConnectionPtr> all = state_->open;
  for (const ConnectionPtr& one : all) one->close();
}

}  // namespace cupel::scenarios
