#include "common/httpclient/sse.hpp"

#include <utility>

namespace cupel::httpclient {

std::vector<Event> SseParser::feed(std::string_view bytes) {
  std::vector<Event> events;
  for (const char c : bytes) {
    if (std::exchange(skip_line_feed_, false) && c == '\n') continue;
    if (c == '\n' || c == '\r') {
      skip_line_feed_ = c == '\r';
      end_line(events);
      continue;
    }
    if (line_.size() + data_.size() >= kEventBytesMax) {
      overflowed_ = true;
      continue;
    }
    line_.push_back(c);
  }
  return events;
}

void SseParser::end_line(std::vector<Event>& events) {
  const std::string whole = std::exchange(line_, {});
  std::string_view line = whole;
  if (std::exchange(first_line_, false) && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  if (!line.empty()) {
    const std::size_t colon = line.find(':');
    if (colon == 0) return;  // a comment: the server's sign of life
    std::string_view value =
        colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    return field(line.substr(0, colon), value);
  }
  if (has_id_) last_id_ = id_;
  if (has_data_) events.push_back({last_id_, type_.empty() ? "message" : type_, data_});
  type_.clear();
  data_.clear();
  has_data_ = false;
  has_id_ = false;
}

void SseParser::field(std::string_view name, std::string_view value) {
  if (name == "data") {
    if (has_data_) data_.push_back('\n');
    data_.append(value);
    has_data_ = true;
  } else if (name == "event") {
    type_ = value;
  } else if (name == "id" && value.find('\0') == std::string_view::npos) {
    id_ = value;
    has_id_ = true;
  }
}

void SseParser::reset() {
  line_.clear();
  type_.clear();
  data_.clear();
  has_data_ = false;
  has_id_ = false;
  skip_line_feed_ = false;
  first_line_ = true;
}

}  // namespace cupel::httpclient
