#include "cli/core/go_events.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>

namespace cupel::cli {
namespace {

constexpr std::size_t kLineMax = 1ULL << 20;

}  // namespace

void GoEventText::push(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto newline = bytes.find('\n');
    const bool whole = newline != std::string_view::npos;
    const auto piece = bytes.substr(0, whole ? newline + 1 : bytes.size());
    bytes.remove_prefix(piece.size());
    if (passing_) {
      out_(piece);
      passing_ = !whole;
    } else if (pending_.size() + piece.size() > kLineMax) {
      out_(pending_);
      out_(piece);
      pending_.clear();
      passing_ = !whole;
    } else if (!whole) {
      pending_ += piece;
    } else if (pending_.empty()) {
      line(piece);
    } else {
      pending_ += piece;
      line(pending_);
      pending_.clear();
    }
  }
}

void GoEventText::finish() {
  if (!pending_.empty()) line(pending_);
  pending_.clear();
}

void GoEventText::line(std::string_view text) {
  if (!text.starts_with('{')) return out_(text);
  const auto event = nlohmann::json::parse(text, nullptr, false);
  if (!event.is_object()) return out_(text);
  const auto action = event.find("Action");
  if (action == event.end() || !action->is_string()) return out_(text);
  const auto output = event.find("Output");
  if (output != event.end() && output->is_string()) out_(output->get_ref<const std::string&>());
}

}  // namespace cupel::cli
