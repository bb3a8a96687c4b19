#pragma once

namespace cupel::wrapper {

/// Does in a directory what build tools do in their caches: makes a file, opens it again, renames
/// and removes it. 0, or 1 with a line on stderr that names the step.
int use_own_files(const char* directory);

}  // namespace cupel::wrapper
