#include "coordinator/http/event_hub.hpp"

#include "common/async/no_throw.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace cupel::coordinator::http {
namespace {

namespace asio = boost::asio;
using cupel::http::EventStream;

constexpr std::uint32_t kRowsAtOnce = 256;

bool is_over(CampaignState state) {
  return state == CampaignState::finished || state == CampaignState::cancelled;
}

}  // namespace

struct EventHub::Listener {
  Listener(asio::io_context& loop, std::uint64_t from, std::optional<CampaignId> of)
      : after(from), campaign(of), wake(loop, asio::steady_timer::time_point::max()) {}

  std::uint64_t after;
  std::optional<CampaignId> campaign;
  asio::steady_timer wake;
  std::shared_ptr<EventStream> stream;
};

EventHub::EventHub(asio::io_context& loop, ReadPool& readers, std::uint64_t last_event,
                   std::size_t ring_max)
    : loop_(loop),
      readers_(readers),
      ring_max_(ring_max),
      before_ring_(last_event),
      last_(last_event),
      newest_(last_event) {}

EventHub::~EventHub() = default;

void EventHub::begin(std::uint64_t last_event) {
  {
    const std::lock_guard lock(mutex_);
    newest_ = last_event;
  }
  asio::post(loop_, [this] {
    ring_.clear();
    const std::lock_guard lock(mutex_);
    before_ring_ = newest_;
    last_ = newest_;
  });
}

void EventHub::end() {
  asio::post(loop_, [this] {
    for (Listener* listener : listeners_) {
      listener->stream->close();
      listener->wake.cancel();
    }
  });
}

void EventHub::publish(std::vector<EventRow> events) {
  if (events.empty()) return;
  const std::lock_guard lock(mutex_);
  newest_ = events.back().seq;
  if (listening_ == 0) return;
  asio::post(loop_, [this, events = std::move(events)]() mutable { take(std::move(events)); });
}

std::uint64_t EventHub::last_event() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

// What was published while nobody listened is in the store only.
void EventHub::join(Listener* listener) {
  listeners_.insert(listener);
  const std::lock_guard lock(mutex_);
  if (listening_++ > 0) return;
  ring_.clear();
  before_ring_ = newest_;
  last_ = newest_;
}

void EventHub::leave(Listener* listener) {
  listeners_.erase(listener);
  const std::lock_guard lock(mutex_);
  --listening_;
}

void EventHub::take(std::vector<EventRow> events) {
  for (EventRow& event : events) {
    if (event.seq <= last_) continue;  // before the first listener came
    last_ = event.seq;
    ring_.push_back(std::move(event));
    if (ring_.size() > ring_max_) {
      before_ring_ = ring_.front().seq;
      ring_.pop_front();
    }
  }
  for (Listener* listener : listeners_) listener->wake.cancel();
}

std::shared_ptr<EventStream> EventHub::subscribe(std::uint64_t after,
                                                 std::optional<CampaignId> campaign) {
  auto listener = std::make_shared<Listener>(loop_, after, campaign);
  auto stream = std::make_shared<EventStream>(loop_.get_executor());
  listener->stream = stream;
  stream->on_gone([weak = std::weak_ptr<Listener>(listener)] {
    if (const auto alive = weak.lock()) alive->wake.cancel();
  });
  join(listener.get());
  asio::co_spawn(loop_, feed(listener), [this, listener](std::exception_ptr error) {
    leave(listener.get());
    if (error) std::rethrow_exception(error);
  });
  return stream;
}

asio::awaitable<Result<std::vector<EventRow>>> EventHub::next(std::shared_ptr<Listener> listener) {
  std::vector<EventRow> rows;
  if (listener->after < before_ring_) {
    const std::uint64_t after = listener->after;
    const auto campaign = listener->campaign;
    std::function<Result<std::vector<EventRow>>(StoreReader&)> read =
        [after, campaign](StoreReader& reader) {
          return reader.events_after(after, campaign, kRowsAtOnce);
        };
    auto answer = co_await readers_.run(std::move(read));
    if (answer && answer->empty()) listener->after = std::max(listener->after, before_ring_);
    co_return answer;
  }
  auto it = std::ranges::upper_bound(ring_, listener->after, {}, &EventRow::seq);
  for (; it != ring_.end() && rows.size() < kRowsAtOnce; ++it) {
    listener->after = it->seq;
    if (!listener->campaign || it->campaign == *listener->campaign) rows.push_back(*it);
  }
  co_return rows;
}

asio::awaitable<void> EventHub::feed(std::shared_ptr<Listener> listener) {
  const std::shared_ptr<EventStream> stream = listener->stream;
  bool over = false;
  // A campaign that runs again was over once before: that end is history, not this stream's.
  const std::uint64_t history = last_;
  if (listener->campaign) {
    std::function<Result<CampaignSummary>(StoreReader&)> read =
        [id = *listener->campaign](StoreReader& reader) { return reader.campaign(id); };
    const auto summary = co_await readers_.run(std::move(read));
    over = !summary || is_over(summary->campaign.state);
  }
  while (!stream->closed()) {
    const bool behind = listener->after < last_;
    auto rows = co_await next(listener);
    if (!rows) {
      spdlog::warn("events can't be read: {}", rows.error().text());
      break;
    }
    for (EventRow& row : *rows) {
      listener->after = std::max(listener->after, row.seq);
      const bool last =
          listener->campaign && row.type == "campaign.finished" && !over && row.seq > history;
      cupel::http::Event event{row.seq, {}, event_json(row)};
      const bool taken = co_await stream->send(std::move(event));
      if (!taken || last) {
        stream->close();
        co_return;
      }
    }
    if (!rows->empty() || behind) continue;
    if (over) break;
    co_await listener->wake.async_wait(kNoThrow);
  }
  stream->close();
}

std::string event_json(const EventRow& event) {
  std::string json = R"({"v":1,"seq":)" + std::to_string(event.seq) + R"(,"ts":")" +
                     to_rfc3339(event.at) + R"(","type":")" + event.type + '"';
  if (event.campaign) json += R"(,"campaign":")" + event.campaign.text() + '"';
  // The body is an object that the machine wrote on one line.
  if (event.body.size() > 2) {
    json += ',';
    json.append(event.body, 1);
  } else {
    json += '}';
  }
  return json;
}

}  // namespace cupel::coordinator::http
