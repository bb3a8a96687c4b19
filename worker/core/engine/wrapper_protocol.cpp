#include "worker/core/engine/wrapper_protocol.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace cupel::worker {

namespace {

constexpr char kMarkerByte = '\x1e';  // record separator: rare in output, and never in UTF-8 text
constexpr std::size_t kMarkerBytesMax = 1024;
constexpr std::size_t kOrdersBytesMax = 64 * 1024;  // worker/wrapper/orders.hpp reads no more
constexpr std::size_t kLineBytesMax = 4500;

bool fits_line(std::string_view text) {
  return !text.empty() && text.size() < kLineBytesMax &&
         text.find('\n') == std::string_view::npos && text.find('\0') == std::string_view::npos;
}

Error bad(const std::string& text) {
  return {.code = Errc::bad_value,
          .what = "'" + text + "' can't stand in an order",
          .detail = {},
          .hint = {}};
}

std::string milliseconds(Duration time) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(time).count());
}

std::optional<WrapperEnd> end_of(std::string_view text) {
  static constexpr std::array<std::string_view, 6> kNames = {"self", "limit", "order",
                                                             "eof",  "mount", "exec"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames.at(i) == text) return static_cast<WrapperEnd>(i);
  }
  return std::nullopt;
}

template <typename Number>
bool take_number(std::string_view text, Number& number) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
}

bool take_flag(std::string_view text, bool& flag) {
  flag = text == "1";
  return text == "1" || text == "0";
}

bool take_field(std::string_view key, std::string_view value, WrapperReport& report) {
  if (key == "end") {
    const auto end = end_of(value);
    report.end = end.value_or(WrapperEnd::self);
    return end.has_value();
  }
  if (key == "exit") return take_number(value, report.exit_code);
  if (key == "signal") return take_number(value, report.signal);
  if (key == "out") return take_number(value, report.out_bytes);
  if (key == "err") return take_number(value, report.err_bytes);
  if (key == "oom") return take_number(value, report.oom_kills);
  if (key == "pids") return take_number(value, report.pids_refused);
  if (key == "tmp") return take_flag(value, report.tmp_full);
  if (key == "left") return take_flag(value, report.leftover);
  return false;
}

/// The fields of an end trailer; nothing when one is missing or odd.
std::optional<WrapperReport> parse_report(std::string_view fields) {
  WrapperReport report;
  std::size_t count = 0;
  while (!fields.empty()) {
    const std::size_t equals = fields.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view key = fields.substr(0, equals);
    fields.remove_prefix(equals + 1);
    if (key == "what") {  // the last one, to the end of the line
      report.what = std::string(fields);
      return count == 9 ? std::optional(report) : std::nullopt;
    }
    const std::string_view value = fields.substr(0, fields.find(' '));
    fields.remove_prefix(std::min(value.size() + 1, fields.size()));
    if (!take_field(key, value, report)) return std::nullopt;
    ++count;
  }
  return std::nullopt;
}

}  // namespace

Result<std::string> encode_orders(const WrapperOrders& orders) {
  std::string text = "cupel 1\nnonce " + orders.nonce + "\nlimit_ms " + milliseconds(orders.limit) +
                     "\ngrace_ms " + milliseconds(orders.grace) + "\ndump " +
                     (orders.dump ? "1" : "0") + "\n";
  for (const WrapperOrders::Digest& digest : orders.digests) {
    if (!fits_line(digest.path)) return bad(digest.path);
    text += "digest " + digest.hex + " " + digest.path + "\n";
  }
  for (const auto& [word, all] :
       {std::pair<std::string_view, const std::vector<WrapperOrders::Mark>*>{"mark ",
                                                                             &orders.marks},
        {"link ", &orders.links}}) {
    for (const WrapperOrders::Mark& mark : *all) {
      if (!fits_line(mark.path) || mark.text.find_first_of(" \n") != std::string::npos) {
        return bad(mark.path);
      }
      text.append(word).append(mark.text).append(" ").append(mark.path).append("\n");
    }
  }
  for (const std::string& path : orders.present) {
    if (!fits_line(path)) return bad(path);
    text += "have " + path + "\n";
  }
  for (const std::string& name : orders.keep) {
    if (!fits_line(name)) return bad(name);
    text += "keep " + name + "\n";
  }
  text += "run\n";
  if (text.size() > kOrdersBytesMax) {
    return Error{.code = Errc::too_large,
                 .what = "the orders of a run are longer than 64 KiB",
                 .detail = {},
                 .hint = {}};
  }
  return text;
}

MarkerFilter::MarkerFilter(const std::string& nonce, Sink sink)
    : start_line_(kMarkerByte + ("cupel-start " + nonce) + "\n"),
      end_prefix_(kMarkerByte + ("cupel-end " + nonce) + " "),
      sink_(std::move(sink)) {}

void MarkerFilter::emit(std::string_view payload) {
  if (payload.empty()) return;
  at_begin_ = false;
  sink_(payload);
}

/// Looks at held_, which begins with the marker byte. True when it was decided: taken as a marker,
/// or its first byte given up as payload. False when more bytes are needed.
bool MarkerFilter::take_marker() {
  const auto could_be = [this](const std::string& marker) {
    return held_.compare(0, marker.size(), marker, 0, held_.size()) == 0;
  };
  if (at_begin_ && !started_ && held_.starts_with(start_line_)) {
    started_ = true;
    held_.erase(0, start_line_.size());
    return true;
  }
  if (at_begin_ && !started_ && held_.size() < start_line_.size() && could_be(start_line_)) {
    return false;
  }
  if (held_.size() < end_prefix_.size() && could_be(end_prefix_)) return false;
  if (held_.starts_with(end_prefix_)) {
    const std::size_t end = held_.find('\n');
    if (end == std::string::npos && held_.size() <= kMarkerBytesMax) return false;
    if (end <= kMarkerBytesMax) {
      const std::size_t begin = end_prefix_.size();
      report_ = parse_report(std::string_view(held_).substr(begin, end - begin));
      if (report_) {
        held_.erase(0, end + 1);
        return true;
      }
    }
  }
  emit(std::string_view(held_).substr(0, 1));
  held_.erase(0, 1);
  return true;
}

void MarkerFilter::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (report_) {
      bytes_after_end_ = true;
      return;
    }
    if (held_.empty()) {
      const std::size_t marker = bytes.find(kMarkerByte);
      emit(bytes.substr(0, marker));
      if (marker == std::string_view::npos) return;
      bytes.remove_prefix(marker);
    }
    // A bounded piece at a time, so that held_ stays small.
    const std::size_t take = std::min<std::size_t>(bytes.size(), kMarkerBytesMax);
    held_.append(bytes.substr(0, take));
    bytes.remove_prefix(take);
    while (!held_.empty() && !report_) {
      const std::size_t marker = held_.find(kMarkerByte);
      emit(std::string_view(held_).substr(0, marker));
      held_.erase(0, marker);  // npos: all of it
      if (held_.empty() || !take_marker()) break;
    }
    if (report_ && !held_.empty()) bytes_after_end_ = true;
  }
}

void MarkerFilter::finish() {
  if (!report_) emit(held_);
  held_.clear();
}

}  // namespace cupel::worker
