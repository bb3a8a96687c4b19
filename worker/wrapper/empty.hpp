#pragma once

namespace cupel::wrapper {

/// Removes everything below a directory, as the user that wrote it; never follows links. Returns
/// how many entries could not be removed.
int empty_directory(const char* path);

}  // namespace cupel::wrapper
