@0xab95f76a3822afc4;
# The root of every message on both planes. Each plane and direction accepts its own members only.

using Cxx = import "/capnp/c++.capnp";
using Bulk = import "bulk.capnp";
using Control = import "control.capnp";
using Task = import "task.capnp";
$Cxx.namespace("cupel::schema");

struct Envelope {
  protocol @0 :UInt32;  # The newest protocol that the sender speaks.

  union {
    nothing @1 :Void;   # Default of an empty message: never valid.

    # Control, worker to coordinator.
    hello @2 :Control.Hello;
    heartbeat @3 :Control.Heartbeat;
    result @4 :Task.TaskResult;
    logTail @5 :Control.LogTail;
    goodbye @6 :Void;

    # Control, coordinator to worker.
    welcome @7 :Control.Welcome;
    refuse @8 :Control.Refuse;
    lease @9 :Control.Lease;
    heartbeatAck @10 :Control.HeartbeatAck;
    resultAck @11 :Control.ResultAck;
    cancelTask @12 :Control.CancelTask;
    drain @13 :Control.Drain;
    helloAgain @14 :Void;

    # Bulk, worker to coordinator.
    putBegin @15 :Bulk.PutBegin;
    putChunk @16 :Bulk.PutChunk;
    getBegin @17 :Bulk.GetBegin;
    getCredit @18 :Bulk.GetCredit;

    # Bulk, coordinator to worker.
    putReady @19 :Bulk.PutReady;
    putDone @20 :Bulk.PutDone;
    getChunk @21 :Bulk.GetChunk;
    bulkRefuse @22 :Bulk.BulkRefuse;

    # Never on a socket.
    storedFindings @23 :Task.Findings;
  }
}
