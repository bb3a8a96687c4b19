// Bodies of engine answers: no bytes may crash a parser or escape as an exception, and what is
// accepted must be usable in a request path.
#include "common/engine/answers.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

using namespace cupel::engine;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string body(data + 1, data + size);
  if (const auto version = parse_version(body); version && version->api < kApiMin) std::abort();
  if (const auto created = parse_created(body); created && !is_container_ref(created->id))
    std::abort();
  if (const auto all = parse_containers(body); all) {
    for (const ContainerSummary& one : *all) {
      if (!is_container_ref(one.id)) std::abort();
    }
  }
  (void)parse_info(body).has_value();
  (void)parse_container(body).has_value();
  if (const auto wait = parse_wait(body); wait && (wait->exit_code < 0 || wait->exit_code > 255))
    std::abort();
  (void)parse_image(body).has_value();
  (void)parse_images(body).has_value();
  if (error_message(body).size() > 4096) std::abort();
  ProgressLines lines;
  const std::size_t split = body.size() * data[0] / 256;
  if (lines.feed(std::string_view(body).substr(0, split))) {
    (void)lines.feed(std::string_view(body).substr(split)).has_value();
  }
  return 0;
}
