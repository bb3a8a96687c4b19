/// Server-sent events as a parser of bytes. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::httpclient {

struct Event {
  std::string id;    ///< The last id that was seen, also where this event carries none of its own.
  std::string type;  ///< "message" where none is given.
  std::string data;
  friend bool operator==(const Event&, const Event&) = default;
};

class SseParser {
 public:
  static constexpr std::size_t kEventBytesMax = 4 * 1024 * 1024;

  explicit SseParser(std::string last_id = "") : last_id_(std::move(last_id)) {}

  /// Events that the bytes complete. Any split of a stream gives the same events.
  [[nodiscard]] std::vector<Event> feed(std::string_view bytes);
  /// Of the last complete event: where a new connection resumes.
  [[nodiscard]] const std::string& last_id() const { return last_id_; }
  /// An event was larger than the limit: the stream is no longer to be trusted.
  [[nodiscard]] bool overflowed() const { return overflowed_; }
  /// After a cut: what was begun and not completed is forgotten.
  void reset();

 private:
  void end_line(std::vector<Event>& events);
  void field(std::string_view name, std::string_view value);

  std::string line_;
  std::string type_;
  std::string data_;
  std::string id_;
  std::string last_id_;
  bool has_id_ = false;
  bool has_data_ = false;
  bool skip_line_feed_ = false;
  bool first_line_ = true;
  bool overflowed_ = false;
};

}  // namespace cupel::httpclient
