#include "worker/egress/proxy.hpp"

#include "common/async/no_throw.hpp"
#include "worker/egress/parse_head.hpp"
#include "worker/egress/proxy_state.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

namespace cupel::worker::egress {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::steady_clock;

namespace {

constexpr Duration kLookPeriod = std::chrono::seconds(1);
constexpr Duration kAcceptPause = std::chrono::milliseconds(100);  // no descriptors left

void report(const std::exception_ptr& failure) {
  if (!failure) return;
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    spdlog::error("the egress proxy: {}", e.what());
  }
}

/// One request after the other, until a tunnel ends it, or the client, or a refusal.
asio::awaitable<void> serve(ConnectionPtr connection) {
  Proxy::State& state = connection->state;
  for (bool more = true; more;) {
    HeadParser parser;
    configure(parser);
    const auto [failure, bytes] = co_await boost::beast::http::async_read_header(
        connection->client, connection->buffer, parser, kNoThrow);
    if (failure == boost::beast::http::error::end_of_stream || !connection->client.is_open())
      co_return;
    auto understood = failure ? RequestRefused{} : understand(head_of(parser));
    if (const auto* refused = std::get_if<RequestRefused>(&understood)) {
      state.ledger.note(refused->run, refused->what, refused->why);
      co_return co_await answer(connection, refused->why);
    }
    auto& request = std::get<ProxyRequest>(understood);
    connection->last_moved = steady_clock::now();
    connection->asks_for_tunnel = request.tunnel;
    // A connection stays with the run that it began with.
    if (!connection->run.empty() && connection->run != request.run) {
      state.ledger.note(request.run, "a connection of another run", Refused::credentials);
      co_return co_await answer(connection, Refused::credentials);
    }
    auto admitted = state.ledger.admit(request, connection->peer, steady_clock::now());
    if (const auto* why = std::get_if<Refused>(&admitted)) {
      co_return co_await answer(connection, *why, request.to.text());
    }
    connection->run = request.run;
    const std::string run = request.run;
    if (request.tunnel) {
      co_await tunnel(connection, std::get<Target>(std::move(admitted)), std::move(request));
      more = false;
    } else {
      const bool stays = parser.get().keep_alive();
      more = co_await fetch(connection, std::get<Target>(std::move(admitted)), std::move(request));
      more = more && stays;
    }
    state.ledger.ended(run);
  }
}

/// Serves it until its end; one too many is closed at once.
void take(Proxy::State& state, ClientSocket socket, std::string peer) {
  if (state.connections.size() >= state.options.connections_max) {
    state.refused(Refused::connections);
    return;
  }
  auto connection = std::make_shared<Connection>(state, std::move(socket), std::move(peer));
  asio::co_spawn(state.loop, serve(connection), [connection](std::exception_ptr thrown) {
    report(thrown);
    connection->cut();
  });
}

asio::awaitable<void> accept_all(Proxy::State& state) {
  for (;;) {
    auto [failure, socket] = co_await state.acceptor.async_accept(kNoThrow);
    if (failure == asio::error::operation_aborted || failure == asio::error::bad_descriptor)
      co_return;
    if (failure) {
      asio::steady_timer timer(state.loop, kAcceptPause);
      (void)co_await timer.async_wait(kNoThrow);
      continue;
    }
    boost::system::error_code ignored;
    std::string peer = socket.remote_endpoint(ignored).address().to_string();
    take(state, ClientSocket(std::move(socket)), std::move(peer));
  }
}

/// Ends what has not moved for too long: one clock for all, whatever they wait for.
asio::awaitable<void> watch(Proxy::State& state) {
  asio::steady_timer timer(state.loop);
  for (;;) {
    timer.expires_after(kLookPeriod);
    const auto [failure] = co_await timer.async_wait(kNoThrow);
    if (failure) co_return;
    const TimePoint now = steady_clock::now();
    for (Connection* connection : state.connections) {
      const Duration limit =
          connection->run.empty() ? state.options.head_limit : state.options.idle_limit;
      if (now - connection->last_moved > limit || !connection->moved(0)) connection->cut();
    }
  }
}

}  // namespace

Connection::Connection(Proxy::State& proxy, ClientSocket socket, std::string whose)
    : state(proxy),
      client(std::move(socket)),
      upstream(proxy.loop),
      peer(std::move(whose)),
      last_moved(steady_clock::now()) {
  state.connections.insert(this);
}

Connection::~Connection() {
  state.connections.erase(this);
}

bool Connection::moved(std::uint64_t bytes) {
  const TimePoint now = steady_clock::now();
  if (bytes > 0) last_moved = now;
  if (bytes > 0 && state.options.on_bytes) state.options.on_bytes(bytes);
  return run.empty() || state.ledger.take(run, bytes, now);
}

void Connection::cut() {
  boost::system::error_code ignored;
  client.close(ignored);
  upstream.close(ignored);
}

Proxy::State::State(ProxyOptions wanted)
    : options(std::move(wanted)),
      guard(options.guard),
      tls(asio::ssl::context::tls_client),
      loop(1),
      work(asio::make_work_guard(loop)),
      acceptor(loop) {
  boost::system::error_code failure;
  if (options.ca_file.empty()) {
    tls.set_default_verify_paths(failure);
  } else {
    tls.load_verify_file(options.ca_file, failure);
  }
  // Without authorities no handshake succeeds, and each says so.
  if (failure) spdlog::error("the egress proxy has no CA certificates: {}", failure.message());
  tls.set_verify_mode(asio::ssl::verify_peer);
  tls.set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1);
}

void Proxy::State::refused(Refused why) const {
  if (options.on_refused) options.on_refused(why);
}

asio::awaitable<bool> wait_for_turn(ConnectionPtr connection, Target target) {
  Proxy::State& state = connection->state;
  const std::string host = target.at.text();
  const TimePoint give_up = steady_clock::now() + state.options.wait_max;
  asio::steady_timer timer(state.loop);
  for (;;) {
    const TimePoint now = steady_clock::now();
    const Duration wait = state.guard.permit(host, now);
    if (wait == Duration{}) co_return true;
    if (now + wait > give_up || !connection->client.is_open()) break;
    timer.expires_after(wait);
    (void)co_await timer.async_wait(kNoThrow);
    connection->last_moved = steady_clock::now();
  }
  state.ledger.note(connection->run, host, Refused::paused);
  co_await answer(connection, Refused::paused, host);
  co_return false;
}

asio::awaitable<void> answer(ConnectionPtr connection, Refused why, std::string target) {
  connection->state.refused(why);
  std::string said = "cupel: refused (" + std::string(name(why)) + ")";
  if (!target.empty()) said += ": " + printable(target);
  // Of the answer to a CONNECT the go command shows the words behind the number, else the body.
  const std::string words = connection->asks_for_tunnel ? said : "Refused";
  const std::string text = "HTTP/1.1 " + std::to_string(status_of(why)) + " " + words +
                           "\r\nContent-Type: text/plain\r\n" +
                           "Content-Length: " + std::to_string(said.size() + 1) +
                           "\r\nConnection: close\r\n\r\n" + said + "\n";
  (void)co_await asio::async_write(connection->client, asio::buffer(text), kNoThrow);
  boost::system::error_code ignored;
  connection->client.shutdown(asio::socket_base::shutdown_send, ignored);
}

Proxy::Proxy(ProxyOptions options) : state_(std::make_unique<State>(std::move(options))) {
  asio::co_spawn(state_->loop, watch(*state_), report);
  state_->thread = std::thread([state = state_.get()] { state->loop.run(); });
}

Proxy::~Proxy() {
  asio::post(state_->loop, [state = state_.get()] {
    boost::system::error_code ignored;
    state->acceptor.close(ignored);
    for (Connection* connection : state->connections) connection->cut();
    state->loop.stop();
  });
  state_->thread.join();
}

namespace {

asio::awaitable<Result<std::uint16_t>> listen_on(Proxy::State& state, std::string address) {
  boost::system::error_code failure;
  state.acceptor.close(failure);
  const auto parsed = asio::ip::make_address(address, failure);
  const tcp::endpoint endpoint(parsed, 0);
  if (!failure) state.acceptor.open(endpoint.protocol(), failure);
  if (!failure) state.acceptor.bind(endpoint, failure);
  if (!failure) state.acceptor.listen(asio::socket_base::max_listen_connections, failure);
  if (failure) {
    co_return Error{.code = Errc::io_error,
                    .what = "the egress proxy can't listen at " + address,
                    .detail = failure.message(),
                    .hint = {}};
  }
  const std::uint16_t port = state.acceptor.local_endpoint().port();
  asio::co_spawn(state.loop, accept_all(state), report);
  co_return port;
}

asio::awaitable<void> open_in(Proxy::State& state, std::string run, std::string secret,
                              Allowance allowance) {
  state.ledger.open(run, std::move(secret), std::move(allowance));
  co_return;
}

asio::awaitable<std::optional<Duration>> paused_in(Proxy::State& state) {
  co_return state.guard.closed_for(steady_clock::now());
}

asio::awaitable<Traffic> close_in(Proxy::State& state, std::string run) {
  for (Connection* connection : state.connections) {
    if (connection->run == run) connection->cut();
  }
  co_return state.ledger.close(run);
}

}  // namespace

asio::awaitable<Result<std::uint16_t>> Proxy::listen(std::string address) {
  co_return co_await asio::co_spawn(state_->loop, listen_on(*state_, std::move(address)),
                                    asio::use_awaitable);
}

void Proxy::adopt(int descriptor, std::string peer) {
  asio::post(state_->loop, [state = state_.get(), descriptor, peer = std::move(peer)]() mutable {
    ClientSocket socket(state->loop);
    boost::system::error_code failure;
    socket.assign({AF_UNIX, 0}, descriptor, failure);
    if (failure) {
      ::close(descriptor);
      return;
    }
    take(*state, std::move(socket), std::move(peer));
  });
}

asio::awaitable<void> Proxy::open(std::string run, std::string secret, Allowance allowance) {
  co_await asio::co_spawn(state_->loop,
                          open_in(*state_, std::move(run), std::move(secret), std::move(allowance)),
                          asio::use_awaitable);
}

asio::awaitable<std::optional<Duration>> Proxy::paused() {
  co_return co_await asio::co_spawn(state_->loop, paused_in(*state_), asio::use_awaitable);
}

asio::awaitable<Traffic> Proxy::close(std::string run) {
  co_return co_await asio::co_spawn(state_->loop, close_in(*state_, std::move(run)),
                                    asio::use_awaitable);
}

}  // namespace cupel::worker::egress
