// The floor of a coordinator on ZeroMQ and SQLite: what transport, encryption and durable commits
// allow before any logic. A producer and a worker process talk to this one over CURVE; every submit
// and every result is in a commit with synchronous=FULL before it is acknowledged; what waits is
// committed together.
//
//   floor_dispatch TASKS SLOTS STORE_FILE [RATE]   ->   {"tasks_s": ..., "cpu_s_per_1k": ...,
//   "commits_per_1k": ..., "p50_ms": ..., "p99_ms": ..., "rss_mb": ...}
//
// RATE: submits per second; without it as fast as a window of 1000 allows. The times are from
// submit to start at the worker. SLOTS 0: no worker, every task stays queued.
#include <zmq.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <sqlite3.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

enum class Kind : char { submit, submitted, ready, task, done, end };

struct Message {
  Kind kind = Kind::submit;
  std::int64_t id = 0;
  std::int64_t submitted_ns = 0;
  float waited_ms = 0;  ///< Of a task that is done.
  std::array<char, 180> body{};
};

struct Keys {
  std::array<char, 41> public_key{};
  std::array<char, 41> secret_key{};
  Keys() { zmq_curve_keypair(public_key.data(), secret_key.data()); }
};

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double resident_mb() {
  long pages = 0;
  FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
  if (file != nullptr) std::fclose(file);
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1024.0 * 1024);
}

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "floor_dispatch: %s\n", what.c_str());
  std::exit(1);
}

void send(zmq::socket_t& socket, const Message& message) {
  socket.send(zmq::buffer(&message, sizeof message), zmq::send_flags::none);
}

Message receive(zmq::socket_t& socket) {
  zmq::message_t raw;
  if (!socket.recv(raw) || raw.size() != sizeof(Message)) fail("a short message");
  Message message;
  std::memcpy(&message, raw.data(), sizeof message);
  return message;
}

zmq::socket_t connect(zmq::context_t& context, const std::string& endpoint, const Keys& server,
                      const Keys& own) {
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::sndhwm, 0);
  socket.set(zmq::sockopt::rcvhwm, 0);
  socket.set(zmq::sockopt::curve_serverkey, server.public_key.data());
  socket.set(zmq::sockopt::curve_publickey, own.public_key.data());
  socket.set(zmq::sockopt::curve_secretkey, own.secret_key.data());
  socket.connect(endpoint);
  return socket;
}

void produce(const std::string& endpoint, const Keys& server, std::int64_t tasks, double rate) {
  constexpr std::int64_t kWindow = 1000;
  zmq::context_t context(1);
  const Keys own;
  auto socket = connect(context, endpoint, server, own);
  std::int64_t sent = 0;
  std::int64_t acknowledged = 0;
  const std::int64_t start = now_ns();
  while (acknowledged < tasks) {
    while (sent < tasks && sent - acknowledged < kWindow) {
      if (rate > 0) {
        const auto due = start + static_cast<std::int64_t>(static_cast<double>(sent) / rate * 1e9);
        if (due > now_ns() && sent > acknowledged) break;
        std::this_thread::sleep_for(std::chrono::nanoseconds(due - now_ns()));
      }
      send(socket, {Kind::submit, sent++, now_ns(), 0, {}});
    }
    acknowledged += receive(socket).id;
  }
}

void work(const std::string& endpoint, const Keys& server) {
  zmq::context_t context(1);
  const Keys own;
  auto socket = connect(context, endpoint, server, own);
  send(socket, {Kind::ready, 0, 0, 0, {}});
  for (Message message = receive(socket); message.kind != Kind::end; message = receive(socket)) {
    const auto waited = static_cast<float>(now_ns() - message.submitted_ns) * 1e-6F;
    send(socket, {Kind::done, message.id, 0, waited, {}});
  }
}

class Store {
 public:
  explicit Store(const std::string& file) {
    if (sqlite3_open(file.c_str(), &db_) != SQLITE_OK) fail("can't open " + file);
    run("PRAGMA journal_mode=WAL");
    run("PRAGMA synchronous=FULL");
    run("PRAGMA wal_autocheckpoint=4000");
    run("CREATE TABLE task(id INTEGER PRIMARY KEY, state INTEGER, spec BLOB)");
    run("CREATE TABLE result(id INTEGER PRIMARY KEY, body BLOB)");
    insert_task_ = prepare("INSERT INTO task VALUES(?1, 0, ?2)");
    finish_task_ = prepare("UPDATE task SET state = 2 WHERE id = ?1");
    insert_result_ = prepare("INSERT INTO result VALUES(?1, ?2)");
  }
  void run(const char* sql) {
    if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(sqlite3_errmsg(db_));
  }
  void submitted(const Message& message) { execute(insert_task_, message, 180); }
  void done(const Message& message) {
    execute(finish_task_, message, 0);
    execute(insert_result_, message, 32);
  }

 private:
  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr) != SQLITE_OK)
      fail(sqlite3_errmsg(db_));
    return statement;
  }
  void execute(sqlite3_stmt* statement, const Message& message, int body_bytes) {
    sqlite3_bind_int64(statement, 1, message.id);
    if (body_bytes > 0) sqlite3_bind_blob(statement, 2, message.body.data(), body_bytes, nullptr);
    if (sqlite3_step(statement) != SQLITE_DONE) fail(sqlite3_errmsg(db_));
    sqlite3_reset(statement);
  }
  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_task_ = nullptr;
  sqlite3_stmt* finish_task_ = nullptr;
  sqlite3_stmt* insert_result_ = nullptr;
};

struct Coordinator {
  zmq::socket_t& router;
  Store& store;
  std::int64_t slots;
  std::string producer;
  std::string worker;
  std::deque<Message> queue;
  std::int64_t free = 0;
  std::int64_t finished = 0;
  std::int64_t accepted = 0;
  std::int64_t commits = 0;
  std::vector<float> waits;

  /// Everything that waits, at most 1024 messages, and one commit for it.
  void round() {
    std::int64_t submitted = 0;
    std::int64_t done = 0;
    for (int i = 0; i < 1024; ++i) {
      zmq::message_t from;
      zmq::message_t raw;
      if (!router.recv(from, i == 0 ? zmq::recv_flags::none : zmq::recv_flags::dontwait)) break;
      if (!router.recv(raw)) break;
      Message message;
      std::memcpy(&message, raw.data(), sizeof message);
      if (message.kind == Kind::ready) {
        worker = from.to_string();
        free = slots;
        continue;
      }
      if (submitted + done == 0) store.run("BEGIN IMMEDIATE");
      if (message.kind == Kind::submit) {
        producer = from.to_string();
        store.submitted(message);
        message.kind = Kind::task;
        queue.push_back(message);
        ++submitted;
      } else {
        store.done(message);
        waits.push_back(message.waited_ms);
        ++done;
      }
    }
    if (submitted + done > 0) {
      store.run("COMMIT");
      ++commits;
    }
    if (submitted > 0) answer(producer, {Kind::submitted, submitted, 0, 0, {}});
    accepted += submitted;
    finished += done;
    free += done;
    for (; free > 0 && !queue.empty() && !worker.empty(); --free) {
      answer(worker, queue.front());
      queue.pop_front();
    }
  }
  void answer(const std::string& to, const Message& message) const {
    router.send(zmq::buffer(to), zmq::send_flags::sndmore);
    send(router, message);
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) fail("usage: floor_dispatch TASKS SLOTS STORE_FILE [RATE]");
  const std::int64_t tasks = std::atoll(argv[1]);
  const std::int64_t slots = std::atoll(argv[2]);
  const double rate = argc > 4 ? std::atof(argv[4]) : 0;
  const Keys server;
  std::array<int, 2> producer_pipe{};
  std::array<int, 2> worker_pipe{};
  if (pipe(producer_pipe.data()) != 0 || pipe(worker_pipe.data()) != 0) fail("no pipe");
  // Children are made before any thread; they learn the address when it is bound.
  std::array<pid_t, 2> children{};
  for (std::size_t i = 0; i < children.size(); ++i) {
    children[i] = fork();
    if (children[i] != 0) continue;
    std::array<char, 64> address{};
    if (read(i == 0 ? producer_pipe[0] : worker_pipe[0], address.data(), address.size() - 1) <= 0)
      _exit(1);
    if (i == 0) {
      produce(address.data(), server, tasks, rate);
    } else if (slots > 0) {
      work(address.data(), server);
    }
    _exit(0);
  }
  Store store(argv[3]);
  zmq::context_t context(1);
  zmq::socket_t router(context, zmq::socket_type::router);
  router.set(zmq::sockopt::sndhwm, 0);
  router.set(zmq::sockopt::rcvhwm, 0);
  router.set(zmq::sockopt::curve_server, true);
  router.set(zmq::sockopt::curve_secretkey, server.secret_key.data());
  router.bind("tcp://127.0.0.1:*");
  const std::string address = router.get(zmq::sockopt::last_endpoint);
  const auto started = std::chrono::steady_clock::now();
  const double cpu = cpu_seconds();
  for (const int fd : {producer_pipe[1], worker_pipe[1]}) {
    if (write(fd, address.data(), address.size()) < 0) fail("no pipe");
  }
  Coordinator coordinator{.router = router,
                          .store = store,
                          .slots = slots,
                          .producer = {},
                          .worker = {},
                          .queue = {},
                          .waits = {}};
  while ((slots > 0 ? coordinator.finished : coordinator.accepted) < tasks) coordinator.round();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  const double used = cpu_seconds() - cpu;
  const double resident = resident_mb();
  if (slots > 0) coordinator.answer(coordinator.worker, {Kind::end, 0, 0, 0, {}});
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  std::vector<float>& waits = coordinator.waits;
  std::ranges::sort(waits);
  const auto percentile = [&](double p) {
    return waits.empty()
               ? 0.0
               : static_cast<double>(
                     waits[static_cast<std::size_t>(p * static_cast<double>(waits.size() - 1))]);
  };
  std::printf(
      "{\"tasks_s\": %.0f, \"cpu_s_per_1k\": %.4f, \"commits_per_1k\": %.1f, \"p50_ms\": %.3f, "
      "\"p99_ms\": %.3f, \"rss_mb\": %.1f}\n",
      static_cast<double>(tasks) / took.count(), used / static_cast<double>(tasks) * 1000,
      static_cast<double>(coordinator.commits) / static_cast<double>(tasks) * 1000, percentile(0.5),
      percentile(0.99), resident);
  return 0;
}
