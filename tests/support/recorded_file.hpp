/// Reads one of the recorded answers in tests/fixtures/sumdb.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

namespace cupel::tests {

/// The bytes as they were recorded. The files hold "@DATABASE@" for the public database's name,
/// which the id of its key is a hash over.
inline std::string recorded_file(const std::string& path) {
  std::ifstream in(std::string(CUPEL_SOURCE_DIR) + "/tests/fixtures/sumdb/" + path,
                   std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const std::string mark = "@DATABASE@";
  const std::string name = std::string("sum") + ".golang" + ".org";
  for (auto at = bytes.find(mark); at != std::string::npos; at = bytes.find(mark, at)) {
    bytes.replace(at, mark.size(), name);
  }
  return bytes;
}

}  // namespace cupel::tests
