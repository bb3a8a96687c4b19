// The orders that the wrapper reads from its standard input, line by line (the worker's side of it
// is worker/core/engine/wrapper_protocol.hpp):
//
//   cupel 1
//   nonce <hex>            secret of this run: proves the marker lines
//   limit_ms <n>           kill everything after it, whatever the worker does
//   grace_ms <n>           between the goroutine dump and the kill
//   dump <0|1>             ask test programs for their goroutines first
//   digest <hex> <path>    a file that must have this SHA-256
//   mark <text> <path>     a file that must hold exactly this text
//   link <text> <path>     a symbolic link, such as a namespace of /proc, to exactly this
//   have <path>            something that must exist
//   keep <name>            a variable that the command sees; once one is named, it sees no others
//   run                    start the command
//
// Afterwards, at any time: "end" (dump, then kill) or "kill". End of file means that the worker is
// dead.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace cupel::wrapper {

constexpr size_t kOrdersBytesMax = 64 * 1024;
constexpr size_t kVariablesMax = 128;

struct Orders {
  char nonce[65] = {};
  int64_t limit_ms = 0;
  int64_t grace_ms = 0;
  bool dump = false;
  /// Non-empty when a mount is not what it should be: the path.
  char wrong_mount[256] = {};
  /// The variables that stay, ended by a null; points into the environment.
  char* variables[kVariablesMax + 1] = {};
  size_t variable_count = 0;
  bool keeps = false;  ///< Others go.
};

/// Reads orders from a blocking descriptor up to "run". False: end of file, or not what it should
/// be.
bool read_orders(int fd, Orders& orders);

}  // namespace cupel::wrapper
