#include "worker/wrapper/exit.hpp"

#include "worker/core/egress/exit_frames.hpp"
#include "worker/wrapper/enclosure.hpp"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cupel::wrapper {

namespace {

using worker::egress::ExitFrame;
using worker::egress::ExitHead;
using worker::egress::kExitGiveBytes;
using worker::egress::kExitHeadBytes;
using worker::egress::kExitPayloadBytesMax;
using worker::egress::kExitWindowBytes;
using worker::egress::read_head;
using worker::egress::read_u32;
using worker::egress::write_head;
using worker::egress::write_u32;

constexpr int kExitBroken = 122;    // a frame that the worker never sends, or no socket
constexpr size_t kClientsMax = 96;  // more than a run may use; the others wait to be accepted
constexpr size_t kSaidBytes = size_t{256} * 1024;
// Frames without payload that all clients together may want to send at once, and an answer to a
// look.
constexpr size_t kSaidReserve = 16 * 1024;
constexpr size_t kHeardBytes = 2 * (kExitPayloadBytesMax + kExitHeadBytes);

/// A connection of the run.
struct Client {
  int fd = 0;  ///< 0: the place is free; all zeros, so that none of this is in the file.
  uint32_t stream = 0;
  uint32_t may_send = 0;  ///< Bytes that the worker still takes.
  uint32_t taken = 0;     ///< Bytes that the client took and the worker hasn't been given yet.
  bool client_ended = false;
  bool worker_ended = false;
  bool told_end = false;  ///< The client knows that the worker ended.
  size_t begin = 0;       ///< Of what waits for the client, in a ring.
  size_t waiting = 0;
  unsigned char ring[kExitWindowBytes] = {};
};

// 12 MiB, of which only what is used is there; and no allocation that could fail.
Client clients[kClientsMax];
unsigned char said[kSaidBytes];
size_t said_begin = 0;
size_t said_end = 0;
unsigned char heard[kHeardBytes];
size_t heard_end = 0;
uint32_t last_stream = 0;
unsigned held_port = 0;

size_t room() {
  return kSaidBytes - (said_end - said_begin);
}

/// The caller has looked at the room.
unsigned char* begin_frame(ExitFrame kind, uint32_t stream, uint32_t length) {
  if (kSaidBytes - said_end < kExitHeadBytes + length) {
    memmove(said, said + said_begin, said_end - said_begin);
    said_end -= said_begin;
    said_begin = 0;
  }
  write_head(said + said_end, {kind, length, stream});
  unsigned char* const payload = said + said_end + kExitHeadBytes;
  said_end += kExitHeadBytes + length;
  return payload;
}

void say_seen() {
  char text[1024];
  const size_t length = describe_enclosure(held_port, text, sizeof(text));
  memcpy(begin_frame(ExitFrame::seen, 0, static_cast<uint32_t>(length)), text, length);
}

void forget(Client& client) {
  close(client.fd);
  client.fd = 0;
}

void cut(Client& client) {
  begin_frame(ExitFrame::cut, client.stream, 0);
  forget(client);
}

void forget_ended(Client& client) {
  if (client.client_ended && client.told_end) forget(client);
}

void accept_one(int listener) {
  for (Client& client : clients) {
    if (client.fd != 0) continue;
    const int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    client.fd = fd;
    client.stream = ++last_stream;
    client.may_send = kExitWindowBytes;
    client.taken = 0;
    client.client_ended = client.worker_ended = client.told_end = false;
    client.begin = client.waiting = 0;
    begin_frame(ExitFrame::begin, client.stream, 0);
    return;
  }
}

bool has_place() {
  for (const Client& client : clients) {
    if (client.fd == 0) return true;
  }
  return false;
}

void read_client(Client& client) {
  size_t most = kExitPayloadBytesMax;
  if (most > client.may_send) most = client.may_send;
  static unsigned char piece[kExitPayloadBytesMax];
  const ssize_t count = read(client.fd, piece, most);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count < 0) return cut(client);
  if (count == 0) {
    client.client_ended = true;
    begin_frame(ExitFrame::end, client.stream, 0);
    return forget_ended(client);
  }
  client.may_send -= static_cast<uint32_t>(count);
  memcpy(begin_frame(ExitFrame::bytes, client.stream, static_cast<uint32_t>(count)), piece,
         static_cast<size_t>(count));
}

void write_client(Client& client) {
  while (client.waiting > 0) {
    size_t piece = kExitWindowBytes - client.begin;
    if (piece > client.waiting) piece = client.waiting;
    const ssize_t count = write(client.fd, client.ring + client.begin, piece);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (count <= 0) return cut(client);
    client.begin = (client.begin + static_cast<size_t>(count)) % kExitWindowBytes;
    client.waiting -= static_cast<size_t>(count);
    client.taken += static_cast<uint32_t>(count);
  }
  if (client.taken >= kExitGiveBytes && !client.worker_ended) {
    write_u32(begin_frame(ExitFrame::give, client.stream, 4), client.taken);
    client.taken = 0;
  }
  if (client.worker_ended && client.waiting == 0 && !client.told_end) {
    shutdown(client.fd, SHUT_WR);
    client.told_end = true;
    forget_ended(client);
  }
}

/// False: more than it was given.
bool keep_for(Client& client, const unsigned char* bytes, size_t count) {
  if (client.worker_ended || count > kExitWindowBytes - client.waiting) return false;
  const size_t at = (client.begin + client.waiting) % kExitWindowBytes;
  const size_t first = count < kExitWindowBytes - at ? count : kExitWindowBytes - at;
  memcpy(client.ring + at, bytes, first);
  memcpy(client.ring, bytes + first, count - first);
  client.waiting += count;
  return true;
}

bool take_for(Client& client, const ExitHead& head, const unsigned char* payload) {
  switch (head.kind) {
    case ExitFrame::bytes: return keep_for(client, payload, head.length);
    case ExitFrame::end:
      client.worker_ended = true;
      write_client(client);
      return true;
    case ExitFrame::cut: forget(client); return true;
    case ExitFrame::give:
      if (head.length != 4) return false;
      client.may_send += read_u32(payload);
      return client.may_send <= kExitWindowBytes;
    case ExitFrame::look:
    case ExitFrame::seen:
    case ExitFrame::begin: break;
  }
  return false;
}

/// False: no frame of the worker.
bool take_frame(const ExitHead& head, const unsigned char* payload) {
  if (head.kind == ExitFrame::look) {
    say_seen();
    return true;
  }
  for (Client& client : clients) {
    if (client.fd != 0 && client.stream == head.stream) return take_for(client, head, payload);
  }
  return head.stream <= last_stream;  // over already
}

/// False: the worker is gone.
bool read_input() {
  const ssize_t count = read(0, heard + heard_end, kHeardBytes - heard_end);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (count <= 0) return false;
  heard_end += static_cast<size_t>(count);
  return true;
}

/// What is whole, as long as there is room for what it leads to. False: what the worker never says.
bool take_frames() {
  size_t at = 0;
  while (heard_end - at >= kExitHeadBytes && room() >= kSaidReserve / 2) {
    const ExitHead head = read_head(heard + at);
    if (head.length > kExitPayloadBytesMax) return false;
    if (heard_end - at < kExitHeadBytes + head.length) break;
    if (!take_frame(head, heard + at + kExitHeadBytes)) return false;
    at += kExitHeadBytes + head.length;
  }
  memmove(heard, heard + at, heard_end - at);
  heard_end -= at;
  return true;
}

bool flush_said() {
  const ssize_t count = write(1, said + said_begin, said_end - said_begin);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  said_begin += static_cast<size_t>(count);
  if (said_begin == said_end) said_begin = said_end = 0;
  return true;
}

int listen_at_loopback() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(at);
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&at), size) != 0 ||
      listen(fd, SOMAXCONN) != 0 || getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
    return -1;
  }
  held_port = ntohs(at.sin_port);
  return fd;
}

short wanted_of(const Client& client, bool read_more) {
  const bool reads = read_more && !client.client_ended && client.may_send > 0;
  return static_cast<short>((reads ? POLLIN : 0) | (client.waiting > 0 ? POLLOUT : 0));
}

void serve_clients(const pollfd* ready) {
  for (size_t i = 0; i < kClientsMax; ++i) {
    if (ready[i].fd < 0 || ready[i].revents == 0) continue;
    if ((ready[i].revents & POLLOUT) != 0) write_client(clients[i]);
    // What an end, or a failure, means is what read() says.
    const bool reads = (ready[i].events & POLLIN) != 0 && clients[i].fd == ready[i].fd;
    if (reads && (ready[i].revents & ~POLLOUT) != 0 &&
        room() >= kSaidReserve + kExitHeadBytes + kExitPayloadBytesMax) {
      read_client(clients[i]);
    }
    if (!reads && clients[i].fd == ready[i].fd && (ready[i].revents & POLLERR) != 0) {
      cut(clients[i]);
    }
  }
}

int serve(int listener) {
  // 0: orders, 1: out, 2: listener, then the clients.
  static pollfd ready[3 + kClientsMax];
  for (;;) {
    const bool roomy = room() >= kSaidReserve + kExitHeadBytes + kExitPayloadBytesMax;
    ready[0] = {heard_end < kHeardBytes ? 0 : -1, POLLIN, 0};
    ready[1] = {said_end > said_begin ? 1 : -1, POLLOUT, 0};
    ready[2] = {roomy && has_place() ? listener : -1, POLLIN, 0};
    for (size_t i = 0; i < kClientsMax; ++i) {
      const short wanted = clients[i].fd == 0 ? short{0} : wanted_of(clients[i], roomy);
      ready[3 + i] = {wanted == 0 ? -1 : clients[i].fd, wanted, 0};
    }
    if (poll(ready, 3 + kClientsMax, -1) < 0) continue;
    if (ready[1].revents != 0 && !flush_said()) return kExitBroken;
    serve_clients(ready + 3);
    if (ready[2].revents != 0) accept_one(listener);
    if (ready[0].revents != 0 && !read_input()) return 0;
    if (!take_frames()) return kExitBroken;
  }
}

}  // namespace

int hold_exit() {
  prctl(PR_SET_DUMPABLE, 0);
  signal(SIGPIPE, SIG_IGN);
  const int listener = listen_at_loopback();
  if (listener < 0) return kExitBroken;
  for (int fd = 0; fd < 2; ++fd) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  say_seen();
  return serve(listener);
}

}  // namespace cupel::wrapper
