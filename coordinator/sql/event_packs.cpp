#include "coordinator/sql/event_packs.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace cupel::coordinator::sql {
namespace {

void add_line(EventPack& pack, const EventAppended& event) {
  pack.body += std::to_string(event.at.us);
  pack.body += ' ';
  pack.body += event.type;
  pack.body += ' ';
  const std::size_t start = pack.body.size();
  pack.body += event.body;
  // In JSON a line break outside of a text is only a space.
  std::replace(pack.body.begin() + static_cast<std::ptrdiff_t>(start), pack.body.end(), '\n', ' ');
  pack.body += '\n';
  pack.at = std::max(pack.at, event.at);
}

Error broken(const EventPack& pack) {
  return {.code = Errc::store_failed,
          .what = "the events " + std::to_string(pack.first) + " to " + std::to_string(pack.last) +
                  " can't be read from the store",
          .detail = {},
          .hint = {}};
}

}  // namespace

std::vector<EventPack> pack_events(std::vector<EventAppended> events, std::uint64_t& next,
                                   std::vector<EventRow>& numbered) {
  // libstdc++'s stable sort uses what it declares deprecated: positions make a plain one stable.
  std::vector<std::pair<CampaignId, std::size_t>> order;
  order.reserve(events.size());
  for (const EventAppended& event : events) order.emplace_back(event.campaign, order.size());
  std::ranges::sort(order);
  std::vector<EventPack> packs;
  numbered.reserve(numbered.size() + events.size());
  for (const auto& [campaign, position] : order) {
    EventAppended& event = events[position];
    const bool fits = !packs.empty() && packs.back().campaign == event.campaign &&
                      packs.back().last - packs.back().first + 1 < kPackEventsMax &&
                      packs.back().body.size() + event.body.size() < kPackBytesMax;
    if (!fits)
      packs.push_back(
          {.first = next, .last = next, .campaign = event.campaign, .body = {}, .at = {}});
    packs.back().last = next;
    add_line(packs.back(), event);
    numbered.push_back(
        {next, event.campaign, std::move(event.type), std::move(event.body), event.at});
    ++next;
  }
  return packs;
}

Result<void> unpack_events(const EventPack& pack, std::uint64_t after,
                           std::vector<EventRow>& into) {
  std::string_view rest = pack.body;
  for (std::uint64_t seq = pack.first; seq <= pack.last; ++seq) {
    const auto line = rest.substr(0, rest.find('\n'));
    if (line.size() == rest.size()) return broken(pack);
    rest.remove_prefix(line.size() + 1);
    const auto time_end = line.find(' ');
    const auto type_end =
        line.find(' ', time_end == std::string_view::npos ? time_end : time_end + 1);
    if (type_end == std::string_view::npos) return broken(pack);
    std::int64_t at = 0;
    const auto number = line.substr(0, time_end);
    const auto read = std::from_chars(number.data(), number.data() + number.size(), at);
    if (read.ec != std::errc{} || read.ptr != number.data() + number.size()) return broken(pack);
    if (seq <= after) continue;
    into.push_back({seq,
                    pack.campaign,
                    std::string(line.substr(time_end + 1, type_end - time_end - 1)),
                    std::string(line.substr(type_end + 1)),
                    {at}});
  }
  return rest.empty() ? Result<void>() : broken(pack);
}

}  // namespace cupel::coordinator::sql
