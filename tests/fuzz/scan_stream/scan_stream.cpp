// What a scanner prints and what a built tool says about itself: both come out of a container.
#include "worker/core/scan/build_info.hpp"
#include "worker/core/scan/stream.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cupel::worker::scan;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Expected expected{"v1.9.0", "file://$CASES/_vulndb", "2099-01-02T00:00:00Z", "go1.26.8"};
  const StreamReport report = read_stream(text, expected);
  if (report.conclusive()) {
    // Nothing conclusive without the three messages that make a stream complete.
    require(text.find("\"config\"") != std::string_view::npos);
    require(text.find("\"SBOM\"") != std::string_view::npos);
    require(text.find("Checking the code") != std::string_view::npos);
    require(!report.modules.empty() || report.facts.vulnerabilities.empty());
    for (const auto& one : report.facts.vulnerabilities) {
      require(!one.osv.empty() && !one.module.empty());
      require(one.summary.find('\n') == std::string_view::npos);
    }
  } else {
    require(report.facts.vulnerabilities.empty() && report.modules.empty());
  }
  (void)read_build_info(text);
  return 0;
}
