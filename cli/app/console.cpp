#include "cli/app/console.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/ioctl.h>
#include <unistd.h>

namespace cupel::cli {
namespace {

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool wants_color(const Globals& globals, bool terminal) {
  if (globals.no_color || !environment_variable("NO_COLOR").empty() ||
      !environment_variable("CUPEL_NO_COLOR").empty())
    return false;
  const std::string force = environment_variable("FORCE_COLOR");
  if (!force.empty() && force != "0") return true;
  return terminal && environment_variable("TERM") != "dumb";
}

std::size_t columns_of(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;  // nobody reads any more
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

Console::Console(const Globals& globals)
    : quiet_(globals.quiet), json_(globals.json()), ndjson_(globals.format == "ndjson") {
  const bool out_terminal = isatty(STDOUT_FILENO) == 1;
  const bool err_terminal = isatty(STDERR_FILENO) == 1;
  color_out_ = wants_color(globals, out_terminal) && !json_;
  if (out_terminal) out_columns_ = columns_of(STDOUT_FILENO);
  if (err_terminal) err_columns_ = columns_of(STDERR_FILENO);
  const bool shown = globals.progress != "none" && !quiet_;
  progress_block_ =
      shown && globals.progress == "auto" && err_terminal && environment_variable("TERM") != "dumb";
  progress_lines_ = shown && !progress_block_;
}

void Console::out(std::string_view text) const {
  write_all(STDOUT_FILENO, text);
}

void Console::say(std::string_view line) {
  if (quiet_) return;
  clear();
  write_all(STDERR_FILENO, std::string(line) + "\n");
}

void Console::error(const Error& error) {
  clear();
  write_all(STDERR_FILENO, "cupel: " + error.text() + "\n");
}

void Console::diagnostics(const std::vector<text::Diagnostic>& diagnostics) {
  clear();
  write_all(STDERR_FILENO, text::render(diagnostics));
}

void Console::draw(const std::vector<std::string>& lines) {
  if (!progress_block_) return;
  std::string text;
  if (drawn_ > 0) text += "\x1B[" + std::to_string(drawn_) + "A";
  text += "\r";
  for (const std::string& line : lines) text += line + "\x1B[K\n";
  text += "\x1B[J";
  drawn_ = lines.size();
  write_all(STDERR_FILENO, text);
}

void Console::clear() {
  if (drawn_ == 0) return;
  write_all(STDERR_FILENO, "\x1B[" + std::to_string(drawn_) + "A\r\x1B[J");
  drawn_ = 0;
}

}  // namespace cupel::cli
