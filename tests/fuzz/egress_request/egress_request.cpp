// The head of a request to the egress proxy, from its bytes to the decision: no input may crash,
// and what is let through has one host, one meaning, and no body.
#include "worker/core/egress/ledger.hpp"
#include "worker/egress/parse_head.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

namespace {

using namespace cupel::worker::egress;

void check(bool good) {
  if (!good) std::abort();
}

Ledger& ledger() {
  static Ledger all = [] {
    Ledger made;
    Allowance allowance;
    allowance.allowed.targets = {
        {.at = {"a.example", 443}, .known_as = {"a.example", 443}},
        {.at = {"b.example", 80}, .tls = false, .way = Way::fetch, .known_as = {"b.example", 80}}};
    allowance.bytes_max = 1 << 30;
    allowance.until = cupel::TimePoint::max();
    made.open("run", "secret", std::move(allowance));
    return made;
  }();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto head = parse_head(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!head) return 0;
  const auto understood = understand(*head);
  const auto* request = std::get_if<ProxyRequest>(&understood);
  if (request == nullptr) {
    for (const char c : std::get<RequestRefused>(understood).what) check(c >= ' ' && c <= '~');
    return 0;
  }
  // What is passed on can be read in one way only.
  const auto again = parse_authority(request->to.text());
  check(again && *again == request->to);
  check(request->tunnel == request->path.empty());
  for (const char c : request->path) check(c > ' ' && c <= '~');
  for (const auto& [name, value] : head->headers) {
    check(name != "Transfer-Encoding" && name != "transfer-encoding");
  }
  const auto admitted = ledger().admit(*request, "172.30.0.2", cupel::TimePoint{});
  if (const auto* target = std::get_if<Target>(&admitted)) {
    check(target->known_as == request->to && (target->way == Way::tunnel) == request->tunnel);
    check(request->run == "run" && request->secret == "secret");
    ledger().ended("run");
  }
  return 0;
}
