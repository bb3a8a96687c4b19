/// Readiness of an after side, checked just before its patch is handed out.
#pragma once

#include "worker/mutate/mutate.hpp"

namespace cupel::worker::mutation {

/// Checks the recorded after side of `work.variant`; changes nothing.
///  - Its tree is computed from the files: another than the recorded one is
///  candidate_tree_mismatch.
///  - `go mod tidy` on a copy of its manifests changes nothing: else not_tidy (or tidy_failed).
///  - `go mod verify` finds its module cache as it was downloaded: else verify_failed.
///  - Each of `work.resolved` is selected at its very version: else target_not_in_build_list.
/// Facts: tree and patch (digest and size only) as recomputed, and the gates. Stops as mutate();
/// Kind::lost when there is no such after side.
[[nodiscard]] boost::asio::awaitable<std::variant<Mutated, AcquireStopped>> verify(
    AcquireContext context, Mutate work, SourceWorkspace source,
    std::shared_ptr<CancelToken> cancel);

}  // namespace cupel::worker::mutation
