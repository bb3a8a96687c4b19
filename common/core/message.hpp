/// The messages between coordinator and worker as values. The wire form is in schema/, the
/// conversion in common/wire. Messages never carry mounts, network, environment or user.
#pragma once

#include "common/core/digest.hpp"
#include "common/core/error.hpp"
#include "common/core/ids.hpp"
#include "common/core/task.hpp"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace cupel {

// ---- control plane: worker to coordinator ------------------------------------------------------

/// A toolchain image as its worker knows it, so that the coordinator can tell which one a unit will
/// get there.
struct Toolchain {
  std::string identity;
  std::string go_version;  ///< "1.26.8"
  bool c_compiler = true;
  friend bool operator==(const Toolchain&, const Toolchain&) = default;
};

struct Capacity {
  std::uint32_t slots = 0;  ///< Leases the worker will hold at once; 0 while it must rest.
  std::uint64_t memory_bytes = 0;
  std::uint64_t disk_free_bytes = 0;
  bool draining = false;
  std::string blocked;                ///< Why slots is 0: "disk", "engine", "mount_probe"; else "".
  std::vector<std::string> images;    ///< Identities present on the engine.
  std::vector<Toolchain> toolchains;  ///< The same images with their facts.
  bool enforces_egress = false;  ///< Its runs reach the module proxy alone, by rules of the host.
  bool upstream_paused = false;  ///< Its module proxies fail: work that needs them waits there.
  friend bool operator==(const Capacity&, const Capacity&) = default;
};

struct LiveLease {
  TaskId task;
  Token token;
  friend bool operator==(const LiveLease&, const LiveLease&) = default;
};

/// First message of a session, and again whenever the coordinator answers `hello_again`.
struct Hello {
  std::uint32_t protocol_min = 0;
  std::uint32_t protocol_max = 0;
  WorkerId worker;
  Incarnation incarnation;
  std::string version;  ///< Of the program, for people.
  std::string host;     ///< Host name, for people.
  std::string engine;   ///< "docker 20.10.24", for people.
  Capacity capacity;
  std::vector<LiveLease> running;         ///< Attempts that run right now.
  std::vector<LiveLease> unacknowledged;  ///< Results that wait in the outbox.
  /// One counter over the hellos and heartbeats of a process, from 1. The coordinator's answers and
  /// leases name the newest beat it has seen; a lease lasts lease_ms from the moment the worker
  /// SENT that beat, so the worker's clock for it always runs out before the coordinator's does,
  /// however long a message was on its way.
  std::uint64_t beat = 0;
};

/// At least once every WelcomeTerms::heartbeat; any message counts as a sign of life.
struct Heartbeat {
  Capacity capacity;
  std::vector<LiveLease> renew;  ///< Every attempt that the worker still holds.
  std::uint64_t beat = 0;        ///< See Hello::beat.
};

struct ResultMessage {
  TaskResult result;
};

/// A piece of output of a running check, for live logs; may be lost without harm.
struct LogTail {
  TaskId task;
  Token token;
  CheckKind check = CheckKind::test;
  Stream stream = Stream::out;
  std::uint64_t offset = 0;
  std::string bytes;  ///< At most 16 KiB.
};

struct Goodbye {};  ///< Drained; leases are given back.

// ---- control plane: coordinator to worker ------------------------------------------------------

struct Welcome {
  std::uint32_t protocol = 0;
  std::uint64_t session = 0;  ///< Joins the control and the bulk socket.
  FleetId fleet;
  std::string worker_name;  ///< The name the key was trusted under.
  std::uint32_t heartbeat_ms = 2000;
  std::uint32_t lease_ms = 30000;
  std::vector<LiveLease> keep;    ///< Of `running`: still yours.
  std::vector<LiveLease> cancel;  ///< Of `running`: stop, the lease is gone.
  std::vector<LiveLease> resend;  ///< Of `unacknowledged`: send the result.
  std::vector<LiveLease> forget;  ///< Of `unacknowledged`: drop it.
  std::uint64_t beat = 0;         ///< Of the hello that this answers; `keep` is renewed from it.
};

/// The session can't begin or go on. `retry_after_ms` = 0: don't try again by yourself.
struct Refuse {
  Errc code = Errc::not_trusted;
  std::string text;
  std::uint32_t retry_after_ms = 0;
};

struct Lease {
  TaskSpec spec;
  Token token;
  std::uint32_t lease_ms = 30000;  ///< From the moment that `beat` was sent.
  std::uint64_t beat = 0;          ///< Newest beat of this worker that the coordinator had seen.
};

/// Answer to Heartbeat.
struct HeartbeatAck {
  std::vector<LiveLease> renewed;
  std::vector<LiveLease> lost;  ///< Stop these: LEASE_LOST.
  std::uint64_t beat = 0;       ///< Of the heartbeat that this answers.
};

/// After the commit that recorded the result (or because it is known already): drop it.
struct ResultAck {
  LiveLease lease;
  bool accepted = true;  ///< False: LEASE_LOST, the result changed nothing.
};

struct CancelTask {
  LiveLease lease;
};

struct Drain {
  bool on = true;
  std::uint32_t deadline_ms = 0;  ///< 0: none; after it running attempts are given back.
};

/// The coordinator doesn't know the session (it restarted): say hello.
struct HelloAgain {};

using ToCoordinator = std::variant<Hello, Heartbeat, ResultMessage, LogTail, Goodbye>;
using ToWorker =
    std::variant<Welcome, Refuse, Lease, HeartbeatAck, ResultAck, CancelTask, Drain, HelloAgain>;

// ---- bulk plane ---------------------------------------------------------------------------------
// One transfer at a time per (session, transfer id); the sender may be `credit` chunks ahead.

struct PutBegin {  ///< Worker: I have bytes for a lease.
  std::uint64_t session = 0;
  std::uint64_t transfer = 0;  ///< Chosen by the worker, unique in the session.
  LiveLease lease;
  Digest digest;
  std::uint64_t size = 0;
};
struct PutChunk {
  std::uint64_t session = 0;
  std::uint64_t transfer = 0;
  std::uint64_t offset = 0;
  std::string bytes;
};
struct GetBegin {  ///< Worker: send me an artifact that a live lease names.
  std::uint64_t session = 0;
  std::uint64_t transfer = 0;
  LiveLease lease;
  Digest digest;
  std::uint64_t offset = 0;  ///< Where to resume.
};
struct GetCredit {
  std::uint64_t session = 0;
  std::uint64_t transfer = 0;
  std::uint32_t chunks = 0;  ///< That many more chunks may come.
};

struct PutReady {  ///< Coordinator: go on from `offset` (or: it is here already).
  std::uint64_t transfer = 0;
  std::uint64_t offset = 0;
  std::uint32_t credit = 0;
  bool complete = false;
};
struct PutDone {
  std::uint64_t transfer = 0;
};
struct GetChunk {
  std::uint64_t transfer = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  ///< Of the whole artifact.
  std::string bytes;
};
struct BulkRefuse {
  std::uint64_t transfer = 0;
  Errc code = Errc::refused_by_policy;
  std::string text;
};

using BulkToCoordinator = std::variant<PutBegin, PutChunk, GetBegin, GetCredit>;
using BulkToWorker = std::variant<PutReady, PutDone, GetChunk, BulkRefuse>;

}  // namespace cupel
