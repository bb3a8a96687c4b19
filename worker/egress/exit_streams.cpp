#include "worker/egress/exit_streams.hpp"

#include "common/async/no_throw.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace cupel::worker::egress {

namespace asio = boost::asio;
using Local = asio::local::stream_protocol;

namespace {

constexpr std::size_t kStreamsMax = 256;  // an exit container holds fewer

}  // namespace

struct ExitStreams::Stream {
  Stream(const asio::any_io_executor& executor, std::uint32_t number, int descriptor)
      : id(number),
        socket(executor, Local(), descriptor),
        bytes_came(executor, asio::steady_timer::time_point::max()),
        gift_came(executor, asio::steady_timer::time_point::max()) {}

  std::uint32_t id;
  Local::socket socket;
  std::string waiting;  ///< From the container, for the proxy.
  std::uint32_t may_send = kExitWindowBytes;
  std::uint32_t outstanding = 0;  ///< Bytes of the container that it hasn't been given back.
  bool container_ended = false;
  bool told_proxy = false;  ///< That the container ended.
  bool proxy_ended = false;
  bool over = false;
  asio::steady_timer bytes_came;
  asio::steady_timer gift_came;

  void end() {
    over = true;
    boost::system::error_code ignored;
    socket.close(ignored);
    bytes_came.cancel();
    gift_came.cancel();
  }
};

ExitStreams::ExitStreams(asio::any_io_executor executor, Proxy& proxy, std::string peer, Send send)
    : executor_(std::move(executor)),
      proxy_(proxy),
      peer_(std::move(peer)),
      send_(std::move(send)),
      all_ended_(executor_, asio::steady_timer::time_point::max()) {}
ExitStreams::~ExitStreams() = default;

void ExitStreams::send(ExitMessage message) {
  if (send_) send_(std::move(message));
}

void ExitStreams::cut(const StreamPtr& stream) {
  if (stream->over) return;
  send({ExitFrame::cut, stream->id});
  stream->end();
  streams_.erase(stream->id);
}

void ExitStreams::forget_ended(const StreamPtr& stream) {
  if (!stream->told_proxy || !stream->proxy_ended || stream->over) return;
  stream->end();
  streams_.erase(stream->id);
}

void ExitStreams::spawn(asio::awaitable<void> way) {
  ++ways_;
  asio::co_spawn(executor_, std::move(way),
                 [self = shared_from_this()](const std::exception_ptr& failure) {
                   --self->ways_;
                   if (failure) spdlog::error("egress: a stream ended with an exception");
                   if (self->ways_ == 0) self->all_ended_.cancel();
                 });
}

bool ExitStreams::begin(std::uint32_t id) {
  if (id <= last_ || streams_.size() >= kStreamsMax) return false;
  last_ = id;
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    send({ExitFrame::cut, id});  // no descriptors left
    return true;
  }
  proxy_.adopt(pair[1], peer_);
  const auto stream = std::make_shared<Stream>(executor_, id, pair[0]);
  streams_.emplace(id, stream);
  spawn(to_proxy(stream));
  spawn(from_proxy(stream));
  return true;
}

asio::awaitable<void> ExitStreams::to_proxy(StreamPtr stream) {
  while (!stream->over) {
    if (!stream->waiting.empty()) {
      const std::string piece = std::exchange(stream->waiting, {});
      const auto [failure, sent] =
          co_await asio::async_write(stream->socket, asio::buffer(piece), kNoThrow);
      if (failure) co_return cut(stream);
      const auto count = static_cast<std::uint32_t>(piece.size());
      stream->outstanding -= count;
      if (!stream->over && !stream->container_ended) send(give_message(stream->id, count));
    } else if (stream->container_ended) {
      boost::system::error_code ignored;
      stream->socket.shutdown(asio::socket_base::shutdown_send, ignored);
      stream->told_proxy = true;
      co_return forget_ended(stream);
    } else {
      (void)co_await stream->bytes_came.async_wait(kNoThrow);
    }
  }
}

asio::awaitable<void> ExitStreams::from_proxy(StreamPtr stream) {
  std::string piece;
  while (!stream->over) {
    if (stream->may_send == 0) {
      (void)co_await stream->gift_came.async_wait(kNoThrow);
      continue;
    }
    piece.resize(std::min<std::size_t>(kExitPayloadBytesMax, stream->may_send));
    const auto [failure, count] =
        co_await stream->socket.async_read_some(asio::buffer(piece), kNoThrow);
    if (stream->over) co_return;
    if (failure == asio::error::eof) {
      send({ExitFrame::end, stream->id});
      stream->proxy_ended = true;
      co_return forget_ended(stream);
    }
    if (failure) co_return cut(stream);
    stream->may_send -= static_cast<std::uint32_t>(count);
    send({ExitFrame::bytes, stream->id, piece.substr(0, count)});
  }
}

bool ExitStreams::take(ExitMessage message) {
  if (message.kind == ExitFrame::begin) return begin(message.stream);
  const auto found = streams_.find(message.stream);
  if (found == streams_.end()) return message.stream <= last_;  // over already
  const StreamPtr stream = found->second;
  switch (message.kind) {
    case ExitFrame::bytes:
      stream->outstanding += static_cast<std::uint32_t>(message.payload.size());
      if (stream->container_ended || stream->outstanding > kExitWindowBytes) return false;
      stream->waiting += message.payload;
      stream->bytes_came.cancel();
      return true;
    case ExitFrame::end:
      stream->container_ended = true;
      stream->bytes_came.cancel();
      return true;
    case ExitFrame::cut:
      stream->end();
      streams_.erase(found);
      return true;
    case ExitFrame::give:
      stream->may_send += read_u32(reinterpret_cast<const unsigned char*>(message.payload.data()));
      stream->gift_came.cancel();
      return stream->may_send <= kExitWindowBytes;
    case ExitFrame::look:
    case ExitFrame::seen:
    case ExitFrame::begin: break;
  }
  return false;
}

void ExitStreams::stop() {
  send_ = {};
  for (const auto& [id, stream] : std::exchange(streams_, {})) stream->end();
}

asio::awaitable<void> ExitStreams::join() {
  const std::shared_ptr<ExitStreams> self = shared_from_this();
  while (ways_ > 0) (void)co_await all_ended_.async_wait(kNoThrow);
}

}  // namespace cupel::worker::egress
