@0x8e567131fc840a30;
# The control plane (common/core/message.hpp). Every message is small and none waits behind an artifact.

using Cxx = import "/capnp/c++.capnp";
using Task = import "task.capnp";
using Words = import "words.capnp";
$Cxx.namespace("cupel::schema");

struct LiveLease {
  task @0 :UInt64;
  token @1 :UInt64;  # Fencing token: one sequence for the fleet, it only grows.
}

struct Capacity {
  slots @0 :UInt32;
  memoryBytes @1 :UInt64;
  diskFreeBytes @2 :UInt64;
  draining @3 :Bool;
  blocked @4 :Text;
  images @5 :List(Text);
  toolchains @6 :List(Toolchain);
  enforcesEgress @7 :Bool;  # Its runs reach the module proxy alone, by rules of the host.
  upstreamPaused @8 :Bool;  # Its module proxies fail: what needs them waits there.
}

struct Toolchain {
  identity @0 :Text;
  goVersion @1 :Text;
  withoutCCompiler @2 :Bool;
}

struct Hello {
  protocolMin @0 :UInt32;
  protocolMax @1 :UInt32;
  worker @2 :UInt64;
  incarnation @3 :UInt64;
  version @4 :Text;
  host @5 :Text;
  engine @6 :Text;
  capacity @7 :Capacity;
  running @8 :List(LiveLease);
  unacknowledged @9 :List(LiveLease);
  beat @10 :UInt64;  # One counter over hellos and heartbeats of a process; leases are timed from it.
}

struct Heartbeat {
  capacity @0 :Capacity;
  renew @1 :List(LiveLease);
  beat @2 :UInt64;
}

struct LogTail {
  task @0 :UInt64;
  token @1 :UInt64;
  check @2 :Words.CheckKind;
  stream @3 :Words.Stream;
  offset @4 :UInt64;
  bytes @5 :Data;
}

struct Welcome {
  protocol @0 :UInt32;
  session @1 :UInt64;
  fleet @2 :UInt64;
  workerName @3 :Text;
  heartbeatMillis @4 :UInt32;
  leaseMillis @5 :UInt32;
  keep @6 :List(LiveLease);
  cancel @7 :List(LiveLease);
  resend @8 :List(LiveLease);
  forget @9 :List(LiveLease);
  beat @10 :UInt64;
}

struct Refuse {
  code @0 :UInt16;  # Registry of common/core/error.hpp.
  text @1 :Text;
  retryAfterMillis @2 :UInt32;
}

struct Lease {
  spec @0 :Task.TaskSpec;
  token @1 :UInt64;
  leaseMillis @2 :UInt32;
  beat @3 :UInt64;
}

struct HeartbeatAck {
  renewed @0 :List(LiveLease);
  lost @1 :List(LiveLease);
  beat @2 :UInt64;
}

struct ResultAck {
  lease @0 :LiveLease;
  accepted @1 :Bool;
}

struct CancelTask {
  lease @0 :LiveLease;
}

struct Drain {
  on @0 :Bool;
  deadlineMillis @1 :UInt32;
}
