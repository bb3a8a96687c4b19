/// Files of seeded build caches. Blocking; for the file pool.
#pragma once

#include "common/core/error.hpp"

#include <filesystem>
#include <string>

namespace cupel::worker {

/// Takes over what a trusted run's container wrote: every regular file becomes ours and 0444, every
/// directory 0755; anything else is removed. Nothing of the container may run any more. Without
/// root they are copies, and the container's lie at left_beside() of the parent directory.
/// Errors: io_error, disk_full.
[[nodiscard]] Result<void> adopt_tree(const std::string& directory);
/// Where adopt_tree() leaves what it can't take over of a seed's scratch directory. It may not be
/// there; empty_directory() removes it.
[[nodiscard]] std::string left_beside(const std::filesystem::path& scratch);

/// A fresh cache directory (0777, and so its subdirectories) whose files are hard links to those of
/// `seed`, or copies of them where links are forbidden. Writes trim.txt, without which the go
/// command deletes seeds older than five days at once. Returns "linked" or "copied". Errors:
/// io_error, disk_full; the directory is then removed again.
/// Without `linking` it copies at once.
[[nodiscard]] Result<std::string> seed_cache(const std::string& seed, const std::string& fresh,
                                             bool linking = true);

/// Adds the files of another seed to such a cache; what is there already stays. Returns "linked" or
/// "copied" as seed_cache() does. Errors: io_error, disk_full; the cache then has some of the
/// files.
[[nodiscard]] Result<std::string> add_seed(const std::string& seed, const std::string& cache,
                                           bool linking = true);

/// A fresh empty cache directory, 0777.
[[nodiscard]] Result<void> make_open_dir(const std::string& directory);

}  // namespace cupel::worker
