#include "worker/core/go/test_stream.hpp"
#include "worker/core/go/text.hpp"

#include <algorithm>

namespace cupel::worker::go {
namespace {

constexpr std::size_t kHeadBytes = 3072;
constexpr std::size_t kTailBytes = 1024;
constexpr std::size_t kNotableBytes = 512;

/// Lines that the testing package and the go command print around a test's own words.
bool is_frame(std::string_view text) {
  const std::string_view line = trim(text);
  for (const std::string_view start : {"=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME ",
                                       "--- PASS: ", "--- FAIL: ", "--- SKIP: "}) {
    if (line.starts_with(start)) return true;
  }
  return line == "PASS" || line == "FAIL" || text.starts_with("ok  \t") ||
         text.starts_with("FAIL\t") || text.starts_with("?   \t") ||
         text.starts_with("coverage: ") || text.starts_with("exit status ");
}

}  // namespace

void Output::watch(std::string_view text) {
  const auto note = [&](bool& flag, bool wins) {
    if (!flag && (wins || notable_.empty())) notable_ = clean(text, kNotableBytes);
    flag = true;
  };
  const std::string_view line = trim(text);
  if (line == "signal: killed") note(killed, true);
  if (text.starts_with("panic: test timed out after ") ||
      text.starts_with("*** Test killed with quit: ran too long")) {
    note(timed_out, true);
  }
  if (text.starts_with("*** Test I/O incomplete") || line.starts_with("exec: WaitDelay expired")) {
    note(io_incomplete, true);
  }
  if (text.starts_with("panic: ") || text.starts_with("fatal error: ")) note(panicked, true);
  if (text.starts_with("panic: ") && contains(text, " [recovered")) repanicked = true;
  if (says_no_space(text)) note(no_space, false);
  if (contains(text, "failed to create new OS thread") ||
      (contains(text, "fork/exec") && contains(text, "resource temporarily unavailable"))) {
    note(no_processes, false);
  }
  // Of the go command alone, which begins a line with it; a test has its place before such words.
  if (text.starts_with("fork/exec /tmp/go-build")) {
    if (contains(text, "permission denied")) note(no_exec, false);
    if (contains(text, "resource temporarily unavailable")) note(not_started, false);
  }
}

void Output::add(std::string_view text) {
  watch(text);
  if (is_frame(text)) return;
  const std::size_t room = kHeadBytes - std::min(kHeadBytes, head_.size());
  const std::string_view front = tail_.empty() && !cut_ ? text.substr(0, room) : std::string_view{};
  head_ += front;
  text.remove_prefix(front.size());
  if (text.empty()) return;
  tail_ += text;
  // Cut rarely, so that a flood of small pieces costs linear time.
  if (tail_.size() > 8 * kTailBytes) {
    tail_.erase(0, tail_.size() - kTailBytes);
    cut_ = true;
  }
}

void Output::drop() {
  head_ = {};
  tail_ = {};
  notable_ = {};
  cut_ = false;
}

std::string Output::message(std::size_t bytes_max) const {
  std::string_view tail = tail_;
  bool lost = cut_;
  if (tail.size() > kTailBytes) {
    tail.remove_prefix(tail.size() - kTailBytes);
    lost = true;
  }
  std::string body = clean(head_ + (lost ? "\n[...]\n" : "") + std::string(tail), bytes_max);
  if (!notable_.empty() && !contains(body, trim(notable_))) {
    body = clean(std::string(trim(notable_)) + "\n[...]\n" + body, bytes_max);
  }
  while (!body.empty() && (body.back() == '\n' || body.back() == ' ' || body.back() == '\t')) {
    body.pop_back();
  }
  return body;
}

}  // namespace cupel::worker::go
