#include "common/app/settings.hpp"

#include <utility>

namespace cupel::app {

using config::Type;

void add_log_settings(config::Schema& schema) {
  schema.add({.name = "log_format",
              .sentence = "Form of the log on standard error",
              .fallback = "text",
              .choices = {"text", "json"}});
  schema.add({.name = "log_level",
              .sentence = "What is logged",
              .fallback = "info",
              .choices = {"trace", "debug", "info", "warn", "error", "off"}});
}

LogOptions log_options(const config::Settings& settings, std::string program) {
  return {.program = std::move(program),
          .format = parse_log_format(settings.text("log_format")).value_or(LogFormat::text),
          .level = settings.text("log_level")};
}

void add_disk_reserve(config::Schema& schema, std::string sentence, std::string fallback) {
  schema.add({.name = "disk_reserve",
              .type = Type::size,
              .sentence = std::move(sentence),
              .fallback = std::move(fallback),
              .min = 0});
}

std::uint64_t disk_reserve(const config::Settings& settings) {
  return static_cast<std::uint64_t>(settings.number("disk_reserve"));
}

void add_ready_file(config::Schema& schema, std::string sentence, std::string example) {
  schema.add({.name = "ready_file",
              .type = Type::path,
              .sentence = std::move(sentence),
              .example = std::move(example)});
}

}  // namespace cupel::app
