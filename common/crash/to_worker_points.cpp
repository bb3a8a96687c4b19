// What the coordinator sends. A message without a line here doesn't compile.
#include "common/crash/crash_point.hpp"
#include "common/crash/message_points.hpp"

namespace cupel::crash {
namespace {

struct BeforeToWorker {
  void operator()(const Welcome& /**/) const { CUPEL_CRASH_POINT("send.welcome"); }
  void operator()(const Refuse& /**/) const { CUPEL_CRASH_POINT("send.refuse"); }
  void operator()(const Lease& /**/) const { CUPEL_CRASH_POINT("send.lease"); }
  void operator()(const HeartbeatAck& /**/) const { CUPEL_CRASH_POINT("send.heartbeat_ack"); }
  void operator()(const ResultAck& /**/) const { CUPEL_CRASH_POINT("send.result_ack"); }
  void operator()(const CancelTask& /**/) const { CUPEL_CRASH_POINT("send.cancel_task"); }
  void operator()(const Drain& /**/) const { CUPEL_CRASH_POINT("send.drain"); }
  void operator()(const HelloAgain& /**/) const { CUPEL_CRASH_POINT("send.hello_again"); }
  void operator()(const PutReady& /**/) const { CUPEL_CRASH_POINT("send.put_ready"); }
  void operator()(const PutDone& /**/) const { CUPEL_CRASH_POINT("send.put_done"); }
  void operator()(const GetChunk& /**/) const { CUPEL_CRASH_POINT("send.get_chunk"); }
  void operator()(const BulkRefuse& /**/) const { CUPEL_CRASH_POINT("send.bulk_refuse"); }
};

struct AfterToWorker {
  void operator()(const Welcome& /**/) const { CUPEL_CRASH_POINT("sent.welcome"); }
  void operator()(const Refuse& /**/) const { CUPEL_CRASH_POINT("sent.refuse"); }
  void operator()(const Lease& /**/) const { CUPEL_CRASH_POINT("sent.lease"); }
  void operator()(const HeartbeatAck& /**/) const { CUPEL_CRASH_POINT("sent.heartbeat_ack"); }
  void operator()(const ResultAck& /**/) const { CUPEL_CRASH_POINT("sent.result_ack"); }
  void operator()(const CancelTask& /**/) const { CUPEL_CRASH_POINT("sent.cancel_task"); }
  void operator()(const Drain& /**/) const { CUPEL_CRASH_POINT("sent.drain"); }
  void operator()(const HelloAgain& /**/) const { CUPEL_CRASH_POINT("sent.hello_again"); }
  void operator()(const PutReady& /**/) const { CUPEL_CRASH_POINT("sent.put_ready"); }
  void operator()(const PutDone& /**/) const { CUPEL_CRASH_POINT("sent.put_done"); }
  void operator()(const GetChunk& /**/) const { CUPEL_CRASH_POINT("sent.get_chunk"); }
  void operator()(const BulkRefuse& /**/) const { CUPEL_CRASH_POINT("sent.bulk_refuse"); }
};

}  // namespace

void before_send(const ToWorker& message) {
  std::visit(BeforeToWorker{}, message);
}
void after_send(const ToWorker& message) {
  std::visit(AfterToWorker{}, message);
}
void before_send(const BulkToWorker& message) {
  std::visit(BeforeToWorker{}, message);
}
void after_send(const BulkToWorker& message) {
  std::visit(AfterToWorker{}, message);
}

}  // namespace cupel::crash
