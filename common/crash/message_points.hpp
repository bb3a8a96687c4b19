/// Crash points of the messages, one pair for each type (crash_point.hpp says what they are for).
#pragma once

#include "common/core/message.hpp"

namespace cupel::crash {

/// Points named after the message: "send.lease" before it goes to its socket, "sent.lease" after.
void before_send(const ToWorker& message);
void after_send(const ToWorker& message);
void before_send(const BulkToWorker& message);
void after_send(const BulkToWorker& message);
void before_send(const ToCoordinator& message);
void after_send(const ToCoordinator& message);
void before_send(const BulkToCoordinator& message);
void after_send(const BulkToCoordinator& message);

}  // namespace cupel::crash
