#include "worker/wrapper/empty.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::wrapper {

namespace {

constexpr int kDepthMax = 2000;  // descriptors and stack; deeper trees are left to a second pass

int empty_below(int directory, int depth) {
  DIR* const entries = fdopendir(directory);
  if (entries == nullptr) {
    close(directory);
    return 1;
  }
  int left = 0;
  fchmod(directory, 0700);  // a module cache is read-only, and removing needs write permission
  while (const dirent* const entry = readdir(entries)) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (unlinkat(directory, entry->d_name, 0) == 0) continue;
    // May fail for what is no directory; then removing it below fails as well, which counts.
    [[maybe_unused]] const int opened_up = fchmodat(directory, entry->d_name, 0700, 0);
    const int child =
        openat(directory, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (child >= 0 && depth < kDepthMax) {
      left += empty_below(child, depth + 1);
    } else if (child >= 0) {
      close(child);
    }
    if (unlinkat(directory, entry->d_name, AT_REMOVEDIR) != 0) ++left;
  }
  closedir(entries);
  return left;
}

}  // namespace

int empty_directory(const char* path) {
  const int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory < 0) return 1;
  return empty_below(directory, 0);
}

}  // namespace cupel::wrapper
