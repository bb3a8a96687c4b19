#include "worker/wrapper/witness.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace cupel::wrapper {

namespace {

/// The number after "key " at the start of a line; -1 when the file or the line isn't there.
int64_t counter(const char* path, const char* key) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  char text[4096];
  const ssize_t count = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (count <= 0) return -1;
  text[count] = 0;
  const size_t length = strlen(key);
  for (const char* line = text; line != nullptr && *line != 0;) {
    if (strncmp(line, key, length) == 0 && line[length] == ' ') {
      return strtoll(line + length + 1, nullptr, 10);
    }
    line = strchr(line, '\n');
    if (line != nullptr) ++line;
  }
  return -1;
}

int64_t first_counter(const char* v2, const char* v1, const char* key) {
  const int64_t value = counter(v2, key);
  return value >= 0 ? value : counter(v1, key);
}

}  // namespace

int64_t oom_kills() {
  return first_counter("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control",
                       "oom_kill");
}

int64_t pids_refused() {
  return first_counter("/sys/fs/cgroup/pids.events", "/sys/fs/cgroup/pids/pids.events", "max");
}

TmpUse tmp_use() {
  struct statvfs facts{};
  if (statvfs("/tmp", &facts) != 0 || facts.f_blocks == 0) return TmpUse::low;
  // Nearly: a writer that fails on its last piece often removes its file before we look again, and
  // doesn't always say why it failed.
  const uint64_t bytes_nearly = facts.f_blocks / 16;
  const uint64_t files_nearly = facts.f_files / 256;
  if (facts.f_bavail <= bytes_nearly) return TmpUse::full;
  if (facts.f_files != 0 && facts.f_favail <= files_nearly) return TmpUse::full;
  return facts.f_bavail <= facts.f_blocks / 2 ? TmpUse::high : TmpUse::low;
}

namespace {

/// The program file of a process, without the mark of a removed one; empty when it can't be read.
/// go test removes a program's directory only at its end, but a test may have removed it.
void program_of(long pid, char (&target)[4096]) {
  char link[64];
  snprintf(link, sizeof(link), "/proc/%ld/exe", pid);
  const ssize_t length = readlink(link, target, sizeof(target) - 1);
  target[length > 0 ? length : 0] = 0;
  char* const deleted = strstr(target, " (deleted)");
  if (deleted != nullptr) *deleted = 0;
}

bool ends_with(const char* text, const char* end) {
  const size_t length = strlen(text);
  const size_t wanted = strlen(end);
  return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

}  // namespace

bool is_go_command(pid_t pid) {
  char target[4096];
  program_of(pid, target);
  return ends_with(target, "/go");
}

int signal_test_programs(int signal) {
  DIR* const processes = opendir("/proc");
  if (processes == nullptr) return 0;
  int found = 0;
  while (const dirent* const entry = readdir(processes)) {
    const long pid = strtol(entry->d_name, nullptr, 10);
    if (pid <= 1) continue;
    char target[4096];
    program_of(pid, target);
    if (!ends_with(target, ".test")) continue;
    if (kill(static_cast<pid_t>(pid), signal) == 0) ++found;
  }
  closedir(processes);
  return found;
}

}  // namespace cupel::wrapper
