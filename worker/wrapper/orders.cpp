#include "worker/wrapper/orders.hpp"

#include "worker/wrapper/sha256.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::wrapper {

namespace {

bool file_has_digest(const char* path, const char* digest) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  struct stat facts{};
  bool readable = fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
  Sha256 sum;
  unsigned char piece[16384];
  while (readable) {
    const ssize_t count = read(fd, piece, sizeof(piece));
    if (count == 0) break;
    if (count < 0 && errno == EINTR) continue;
    readable = count > 0;
    if (readable) sum.update(piece, static_cast<size_t>(count));
  }
  close(fd);
  char hex[65];
  sum.finish(hex);
  return readable && strcmp(hex, digest) == 0;
}

bool file_holds(const char* path, const char* text) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  char content[128];
  const ssize_t count = read(fd, content, sizeof(content));
  close(fd);
  return count >= 0 && static_cast<size_t>(count) == strlen(text) &&
         memcmp(content, text, static_cast<size_t>(count)) == 0;
}

/// Reads one line without its end. One byte a call: what follows "run" belongs to the main loop.
bool read_line(int fd, char* line, size_t capacity, size_t& budget) {
  size_t length = 0;
  while (true) {
    char c = 0;
    const ssize_t count = read(fd, &c, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count != 1 || budget-- == 0) return false;
    if (c == '\n') break;
    if (length + 1 >= capacity || c == 0) return false;
    line[length++] = c;
  }
  line[length] = 0;
  return true;
}

const char* after(const char* line, const char* word) {
  const size_t length = strlen(word);
  return strncmp(line, word, length) == 0 ? line + length : nullptr;
}

bool number(const char* text, int64_t& value) {
  char* end = nullptr;
  errno = 0;
  value = strtoll(text, &end, 10);
  return errno == 0 && end != text && *end == 0 && value >= 0;
}

bool is_link_to(const char* path, const char* target) {
  char text[128];
  const ssize_t count = readlink(path, text, sizeof(text));
  return count >= 0 && static_cast<size_t>(count) == strlen(target) &&
         memcmp(text, target, static_cast<size_t>(count)) == 0;
}

void note_wrong(Orders& orders, const char* path) {
  if (orders.wrong_mount[0] != 0) return;
  strncpy(orders.wrong_mount, path, sizeof(orders.wrong_mount) - 1);
}

bool take_check(char* line, Orders& orders) {
  if (const char* const path = after(line, "have ")) {
    struct stat facts{};
    if (lstat(path, &facts) != 0) note_wrong(orders, path);
    return true;
  }
  const bool digest = after(line, "digest ") != nullptr;
  const bool link = after(line, "link ") != nullptr;
  if (!digest && !link && after(line, "mark ") == nullptr) return false;
  char* const value = strchr(line, ' ') + 1;
  char* const space = strchr(value, ' ');
  if (space == nullptr) return false;
  *space = 0;
  const char* const path = space + 1;
  const bool right = digest ? file_has_digest(path, value)
                     : link ? is_link_to(path, value)
                            : file_holds(path, value);
  if (!right) note_wrong(orders, path);
  return true;
}

bool keep_variable(const char* name, Orders& orders) {
  orders.keeps = true;
  const size_t length = strlen(name);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (strncmp(*entry, name, length) != 0 || (*entry)[length] != '=') continue;
    if (orders.variable_count == kVariablesMax) return false;
    orders.variables[orders.variable_count++] = *entry;
  }
  return true;
}

bool take_line(char* line, Orders& orders) {
  if (const char* const text = after(line, "nonce ")) {
    if (strlen(text) < 16 || strlen(text) >= sizeof(orders.nonce)) return false;
    memcpy(orders.nonce, text, strlen(text));
    return true;
  }
  if (const char* const text = after(line, "limit_ms ")) return number(text, orders.limit_ms);
  if (const char* const text = after(line, "grace_ms ")) return number(text, orders.grace_ms);
  if (const char* const text = after(line, "dump ")) {
    orders.dump = strcmp(text, "1") == 0;
    return true;
  }
  if (const char* const name = after(line, "keep ")) return keep_variable(name, orders);
  return take_check(line, orders);
}

}  // namespace

bool read_orders(int fd, Orders& orders) {
  char line[4608];
  size_t budget = kOrdersBytesMax;
  if (!read_line(fd, line, sizeof(line), budget) || strcmp(line, "cupel 1") != 0) return false;
  while (read_line(fd, line, sizeof(line), budget)) {
    if (strcmp(line, "run") == 0) return orders.nonce[0] != 0 && orders.limit_ms > 0;
    if (!take_line(line, orders)) return false;
  }
  return false;
}

}  // namespace cupel::wrapper
