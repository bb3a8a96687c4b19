// SHA-256 (FIPS 180-4) without a library: the wrapper is static and links nothing.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace cupel::wrapper {

class Sha256 {
 public:
  void update(const unsigned char* bytes, size_t count);
  /// 64 lower-case hex digits and a zero. Once.
  void finish(char (&hex)[65]);

 private:
  void block(const unsigned char* bytes);

  uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  unsigned char rest_[64] = {};
  size_t rest_count_ = 0;
  uint64_t total_ = 0;
};

}  // namespace cupel::wrapper
