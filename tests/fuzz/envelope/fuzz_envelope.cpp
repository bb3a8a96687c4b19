// Bytes of a peer through every decoder. What is taken must survive another round unchanged: a value
// that this side accepts is one that it can send.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/wire/codec.hpp"
#include "tests/support/filled.hpp"

namespace {

using namespace cupel;

template <typename Value, typename Decode>
void round_trip(std::string_view bytes, Decode decode) {
  const Result<Value> first = decode(bytes);
  if (!first) return;
  const Result<Value> second = decode(wire::encode(*first));
  // Unpacked messages may share bytes between pointers, so the copy can be over a plane's limit.
  if (!second && second.error().detail == "longer than its plane allows") return;
  if (!second || !tests::same(*first, *second)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  round_trip<ToCoordinator>(bytes, wire::decode_to_coordinator);
  round_trip<ToWorker>(bytes, wire::decode_to_worker);
  round_trip<BulkToCoordinator>(bytes, wire::decode_bulk_to_coordinator);
  round_trip<BulkToWorker>(bytes, wire::decode_bulk_to_worker);
  static_cast<void>(wire::decode_result(bytes));
  return 0;
}
