#include "worker/core/sumdb/lookup.hpp"

#include "common/core/digest.hpp"
#include "common/core/utf8.hpp"
#include "worker/core/sumdb/note.hpp"
#include "worker/core/sumdb/tree.hpp"

#include <algorithm>
#include <array>

namespace cupel::worker::sumdb {

namespace {

constexpr std::size_t kSumBytes = 32;

Error bad_answer(const char* what) {
  return {.code = Errc::bad_value,
          .what = std::string("checksum database: ") + what,
          .detail = {},
          .hint = {}};
}

bool is_h1(std::string_view sum) {
  std::array<std::uint8_t, kSumBytes> bytes{};
  return sum.starts_with("h1:") && decode_base64(sum.substr(3), bytes.data(), bytes.size());
}

/// Takes the first line off.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

Result<Lookup> parse_lookup(std::string_view answer) {
  if (answer.size() > kLookupBytesMax) return bad_answer("the answer to a lookup is too large");
  const bool plain = is_clean_text(answer) && std::ranges::all_of(answer, [](char c) {
                       return c == '\n' || static_cast<unsigned char>(c) >= ' ';
                     });
  const std::size_t number_end = answer.find('\n');
  if (!plain || number_end == std::string_view::npos) {
    return bad_answer("the answer to a lookup is malformed");
  }
  Lookup lookup;
  if (!parse_number(answer.substr(0, number_end), kTreeSizeMax, lookup.number)) {
    return bad_answer("the answer to a lookup names no record");
  }
  answer.remove_prefix(number_end + 1);
  const std::size_t split = answer.find("\n\n");
  if (split == std::string_view::npos || split == 0 || answer.front() == '\n') {
    return bad_answer("the answer to a lookup holds no record");
  }
  lookup.record = answer.substr(0, split + 1);
  lookup.note = answer.substr(split + 2);
  return lookup;
}

Result<ModuleSums> sums_of(std::string_view record, const ModuleVersion& module) {
  Error other{.code = Errc::artifact_mismatch,
              .what = "checksum database: the record is not that of " + module.text(),
              .detail = {},
              .hint = {}};
  const std::string zip = module.path + " " + module.version + " ";
  const std::string go_mod = module.path + " " + module.version + "/go.mod ";
  ModuleSums sums;
  while (!record.empty()) {
    const std::string_view line = take_line(record);
    const bool is_zip = line.starts_with(zip);
    if (!is_zip && !line.starts_with(go_mod)) return other;
    std::string& sum = is_zip ? sums.zip : sums.go_mod;
    if (!sum.empty()) return other;
    sum = line.substr(is_zip ? zip.size() : go_mod.size());
    if (!is_h1(sum)) return other;
  }
  if (sums.zip.empty() || sums.go_mod.empty()) return other;
  return sums;
}

std::string file_h1(std::string_view name, std::string_view content) {
  const Digest sum = sha256(sha256(content).hex() + "  " + std::string(name) + "\n");
  return "h1:" + encode_base64(sum.bytes.data(), sum.bytes.size());
}

}  // namespace cupel::worker::sumdb
