/// The end of a mutate: from the staged copy to a diff, a recorded after side and an answer.
#pragma once

#include "worker/core/change/apply_patch.hpp"
#include "worker/mutate/job.hpp"

#include <optional>
#include <string>
#include <variant>

namespace cupel::worker::mutation {

/// Blocking. `none`: the change means nothing to the unit. Sets `recorded` when the module cache
/// belongs to a record now.
[[nodiscard]] std::variant<Mutated, AcquireStopped> finish(Job& job, NotAffected none,
                                                           bool& recorded);

/// Blocking. What `job.edits` are, as a diff against `job.source.snapshot`. Errors: bad_value (a
/// file that a diff can't hold), too_large, io_error.
[[nodiscard]] Result<std::string> diff_of(const Job& job);

/// Blocking. A file of the snapshot; nothing when it isn't there. `failure` is set when it can't be
/// read.
[[nodiscard]] std::optional<change::TreeFile> read_tree_file(const std::string& snapshot,
                                                             const std::string& path,
                                                             std::optional<Error>& failure);

}  // namespace cupel::worker::mutation
