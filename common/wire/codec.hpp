/// Values <-> Cap'n Proto bytes. Pure. No Cap'n Proto header is visible outside common/wire.
///
/// Decoding never throws: malformed, oversized, over-nested or out-of-range bytes give
/// Errc::malformed_message; a message of a newer protocol that this version doesn't know gives
/// Errc::protocol_mismatch. The input needs no alignment.
#pragma once

#include <string>
#include <string_view>

#include "common/core/message.hpp"

namespace cupel::wire {

[[nodiscard]] std::string encode(const ToCoordinator& message);
[[nodiscard]] std::string encode(const ToWorker& message);
[[nodiscard]] std::string encode(const BulkToCoordinator& message);
[[nodiscard]] std::string encode(const BulkToWorker& message);

[[nodiscard]] Result<ToCoordinator> decode_to_coordinator(std::string_view bytes);
[[nodiscard]] Result<ToWorker> decode_to_worker(std::string_view bytes);
[[nodiscard]] Result<BulkToCoordinator> decode_bulk_to_coordinator(std::string_view bytes);
[[nodiscard]] Result<BulkToWorker> decode_bulk_to_worker(std::string_view bytes);

/// A TaskResult alone, as the worker's outbox keeps it on disk.
[[nodiscard]] std::string encode_result(const TaskResult& result);
[[nodiscard]] Result<TaskResult> decode_result(std::string_view bytes);

}  // namespace cupel::wire
