// What a worker sends. A message without a line here doesn't compile.
#include "common/crash/crash_point.hpp"
#include "common/crash/message_points.hpp"

namespace cupel::crash {
namespace {

struct BeforeToCoordinator {
  void operator()(const Hello& /**/) const { CUPEL_CRASH_POINT("send.hello"); }
  void operator()(const Heartbeat& /**/) const { CUPEL_CRASH_POINT("send.heartbeat"); }
  void operator()(const ResultMessage& /**/) const { CUPEL_CRASH_POINT("send.result"); }
  void operator()(const LogTail& /**/) const { CUPEL_CRASH_POINT("send.log_tail"); }
  void operator()(const Goodbye& /**/) const { CUPEL_CRASH_POINT("send.goodbye"); }
  void operator()(const PutBegin& /**/) const { CUPEL_CRASH_POINT("send.put_begin"); }
  void operator()(const PutChunk& /**/) const { CUPEL_CRASH_POINT("send.put_chunk"); }
  void operator()(const GetBegin& /**/) const { CUPEL_CRASH_POINT("send.get_begin"); }
  void operator()(const GetCredit& /**/) const { CUPEL_CRASH_POINT("send.get_credit"); }
};

struct AfterToCoordinator {
  void operator()(const Hello& /**/) const { CUPEL_CRASH_POINT("sent.hello"); }
  void operator()(const Heartbeat& /**/) const { CUPEL_CRASH_POINT("sent.heartbeat"); }
  void operator()(const ResultMessage& /**/) const { CUPEL_CRASH_POINT("sent.result"); }
  void operator()(const LogTail& /**/) const { CUPEL_CRASH_POINT("sent.log_tail"); }
  void operator()(const Goodbye& /**/) const { CUPEL_CRASH_POINT("sent.goodbye"); }
  void operator()(const PutBegin& /**/) const { CUPEL_CRASH_POINT("sent.put_begin"); }
  void operator()(const PutChunk& /**/) const { CUPEL_CRASH_POINT("sent.put_chunk"); }
  void operator()(const GetBegin& /**/) const { CUPEL_CRASH_POINT("sent.get_begin"); }
  void operator()(const GetCredit& /**/) const { CUPEL_CRASH_POINT("sent.get_credit"); }
};

}  // namespace

void before_send(const ToCoordinator& message) {
  std::visit(BeforeToCoordinator{}, message);
}
void after_send(const ToCoordinator& message) {
  std::visit(AfterToCoordinator{}, message);
}
void before_send(const BulkToCoordinator& message) {
  std::visit(BeforeToCoordinator{}, message);
}
void after_send(const BulkToCoordinator& message) {
  std::visit(AfterToCoordinator{}, message);
}

}  // namespace cupel::crash
