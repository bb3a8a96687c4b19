// What an exit container says: no input may crash, any split gives the same messages, and what is
// understood is written back as it came.
#include "worker/core/egress/exit_messages.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace cupel::worker::egress;

void check(bool good) {
  if (!good) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ExitReader whole;
  const auto messages = whole.feed(bytes);
  ExitReader split;
  const auto first = split.feed(bytes.substr(0, size / 2));
  const auto second = split.feed(bytes.substr(size / 2));
  check(messages.has_value() == (first.has_value() && second.has_value()));
  if (!messages) return 0;
  std::string again;
  for (const ExitMessage& message : *messages) again += encode_exit(message);
  check(bytes.starts_with(again) && first->size() + second->size() == messages->size());
  for (const ExitMessage& message : *messages) {
    const auto seen = parse_exit_seen(message.payload);
    if (seen) check(seen->network_namespace.starts_with("net:["));
  }
  return 0;
}
