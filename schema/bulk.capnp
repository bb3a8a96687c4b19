@0xc4abf7609019cf33;
# The bulk plane: artifacts in chunks (common/wire/bulk.hpp has the rules of a transfer).

using Cxx = import "/capnp/c++.capnp";
using Control = import "control.capnp";
$Cxx.namespace("cupel::schema");

struct PutBegin {
  session @0 :UInt64;
  transfer @1 :UInt64;
  lease @2 :Control.LiveLease;
  digest @3 :Data;
  size @4 :UInt64;
}

struct PutChunk {
  session @0 :UInt64;
  transfer @1 :UInt64;
  offset @2 :UInt64;
  bytes @3 :Data;
}

struct GetBegin {
  session @0 :UInt64;
  transfer @1 :UInt64;
  lease @2 :Control.LiveLease;
  digest @3 :Data;
  offset @4 :UInt64;
}

struct GetCredit {
  session @0 :UInt64;
  transfer @1 :UInt64;
  chunks @2 :UInt32;
}

struct PutReady {
  transfer @0 :UInt64;
  offset @1 :UInt64;
  credit @2 :UInt32;
  complete @3 :Bool;
}

struct PutDone {
  transfer @0 :UInt64;
}

struct GetChunk {
  transfer @0 :UInt64;
  offset @1 :UInt64;
  size @2 :UInt64;
  bytes @3 :Data;
}

struct BulkRefuse {
  transfer @0 :UInt64;
  code @1 :UInt16;
  text @2 :Text;
}
