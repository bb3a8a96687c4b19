#include "worker/core/egress/exit_messages.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace cupel::worker::egress {

namespace {

Error not_said(std::string detail) {
  return {.code = Errc::engine_protocol,
          .what = "an exit container said what none says",
          .detail = std::move(detail),
          .hint = {}};
}

bool is_of_container(const ExitHead& head) {
  switch (head.kind) {
    case ExitFrame::seen: return head.stream == 0 && head.length > 0;
    case ExitFrame::bytes: return head.stream != 0 && head.length > 0;
    case ExitFrame::begin:
    case ExitFrame::end:
    case ExitFrame::cut: return head.stream != 0 && head.length == 0;
    case ExitFrame::give: return head.stream != 0 && head.length == 4;
    case ExitFrame::look: return false;
  }
  return false;
}

/// The value of "key=value" at the beginning, which ends at a space; takes it off.
std::optional<std::string_view> take_value(std::string_view& text, std::string_view key) {
  if (!text.starts_with(key)) return std::nullopt;
  text.remove_prefix(key.size());
  const std::string_view value = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(value.size() + 1, text.size()));
  return value;
}

}  // namespace

std::string encode_exit(const ExitMessage& message) {
  std::array<unsigned char, kExitHeadBytes> head{};
  write_head(head.data(),
             {message.kind, static_cast<std::uint32_t>(message.payload.size()), message.stream});
  return std::string(head.begin(), head.end()) + message.payload;
}

ExitMessage give_message(std::uint32_t stream, std::uint32_t bytes) {
  std::array<unsigned char, 4> payload{};
  write_u32(payload.data(), bytes);
  return {ExitFrame::give, stream, std::string(payload.begin(), payload.end())};
}

Result<std::vector<ExitMessage>> ExitReader::feed(std::string_view bytes) {
  std::vector<ExitMessage> whole;
  if (broken_) return not_said("behind an error");
  held_ += bytes;
  std::size_t at = 0;
  while (held_.size() - at >= kExitHeadBytes) {
    const ExitHead head = read_head(reinterpret_cast<const unsigned char*>(held_.data() + at));
    if (!is_of_container(head) || head.length > kExitPayloadBytesMax) {
      broken_ = true;
      held_.clear();
      return not_said("a frame of kind " + std::to_string(static_cast<unsigned>(head.kind)) +
                      " and " + std::to_string(head.length) + " bytes");
    }
    if (held_.size() - at < kExitHeadBytes + head.length) break;
    whole.push_back({head.kind, head.stream, held_.substr(at + kExitHeadBytes, head.length)});
    at += kExitHeadBytes + head.length;
  }
  held_.erase(0, at);
  return whole;
}

Result<ExitSeen> parse_exit_seen(std::string_view text) {
  const std::string said(text.substr(0, 200));
  const auto port = take_value(text, "port=");
  const auto space = port ? take_value(text, "net=") : std::nullopt;
  const auto found = space ? take_value(text, "found=") : std::nullopt;
  if (!found || found->empty() || !text.empty() || !space->starts_with("net:[")) {
    return not_said(said);
  }
  ExitSeen seen{.port = 0,
                .network_namespace = std::string(*space),
                .found = *found == "-" ? std::string() : std::string(*found)};
  const auto parsed = std::from_chars(port->data(), port->data() + port->size(), seen.port);
  if (parsed.ec != std::errc() || parsed.ptr != port->data() + port->size()) return not_said(said);
  return seen;
}

}  // namespace cupel::worker::egress
