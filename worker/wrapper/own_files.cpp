#include "worker/wrapper/own_files.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

namespace cupel::wrapper {

namespace {

constexpr const char* kFirst = ".cupel-own-file";
constexpr const char* kRenamed = ".cupel-own-file-renamed";

int failed(const char* step) {
  fprintf(stderr, "can't %s a file: %s\n", step, strerror(errno));
  return 1;
}

}  // namespace

int use_own_files(const char* directory) {
  const int at = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (at < 0) return failed("look for");
  const int made = openat(at, kFirst, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (made < 0 || write(made, "cupel\n", 6) != 6 || close(made) != 0) return failed("make");
  // Where new files are given to another user, it is this that fails.
  const int again = openat(at, kFirst, O_RDWR | O_CLOEXEC);
  if (again < 0 || ftruncate(again, 0) != 0 || close(again) != 0) return failed("open again");
  if (renameat(at, kFirst, at, kRenamed) != 0) return failed("rename");
  if (unlinkat(at, kRenamed, 0) != 0) return failed("remove");
  close(at);
  return 0;
}

}  // namespace cupel::wrapper
