/// What a worker never does, whoever asks. The coordinator checks a campaign before it sends tasks;
/// this is the second look, since a worker's host must not depend on the coordinator's honesty.
/// Pure.
#pragma once

#include "common/core/task.hpp"

#include <optional>
#include <string>

namespace cupel::worker {

/// One sentence why this task is not even begun; nothing where it may be. Refused are: a kind that
/// doesn't fit its work, paths that leave the tree, words that a command would read as options,
/// control characters, limits that the engine reads as "none", names outside their alphabet.
/// Whether a source may be fetched and an image is here is decided where they are used.
[[nodiscard]] std::optional<std::string> refuse_spec(const TaskSpec& spec);

}  // namespace cupel::worker
