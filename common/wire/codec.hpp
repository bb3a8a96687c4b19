/// Values <-> Cap'n Proto bytes. Pure. No Cap'n Proto header is visible outside common/wire.
///
/// Decoding never throws: malformed, oversized, over-nested or out-of-range bytes give
/// Errc::malformed_message; a message of a newer protocol that this version doesn't know gives
/// Errc::protocol_mismatch. The input needs no alignment.
///
/// Encoding replaces bytes that are no UTF-8, and NUL, by U+FFFD, and cuts what people and tools
/// said (names, messages, notes) to 4 KiB. What is executed is never cut: a command or pattern over
/// the limits is refused by the other side.
#pragma once

#include "common/core/message.hpp"

#include <optional>
#include <string>
#include <string_view>

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

/// Worker, before it encodes a result: where the findings are over kResultInlineFindingsBytesMax,
/// only the first ones stay in the result, `findings_artifact` gets the digest of an artifact with
/// all of them, and its bytes, which are to be uploaded, are returned. Cuts to
/// kFindingsPerResultMax. Nothing is returned when the findings stay inline.
[[nodiscard]] std::optional<std::string> split_findings(TaskResult& result);
/// Coordinator: puts them back. Errors: artifact_mismatch, malformed_message.
[[nodiscard]] Result<void> join_findings(TaskResult& result, std::string_view artifact);

}  // namespace cupel::wire
