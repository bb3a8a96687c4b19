/// Brings committed events to everyone who listens by SSE.
///
/// A listener reads from a ring of the newest events, and from the store when it is behind the
/// ring, so nothing is lost or doubled however slow it is; memory stays bounded. While nobody
/// listens the loop isn't woken. Lives on the HTTP loop.
#pragma once

#include "common/http/event_stream.hpp"
#include "coordinator/http/read_pool.hpp"
#include "coordinator/ports/store.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <vector>

namespace cupel::coordinator::http {

class EventHub {
 public:
  /// `last_event`: the newest number in the store when the hub was made.
  EventHub(boost::asio::io_context& loop, ReadPool& readers, std::uint64_t last_event,
           std::size_t ring_max = 4096);
  ~EventHub();
  EventHub(const EventHub&) = delete;
  EventHub& operator=(const EventHub&) = delete;

  /// Others have written to the store since: it goes on from number `last_event`. Any thread.
  void begin(std::uint64_t last_event);
  /// No more events will come: listeners are sent away, to ask again. Any thread.
  void end();
  /// After their commit, in order; from any one thread.
  void publish(std::vector<EventRow> events);
  /// Events after number `after`; of one campaign, then the stream ends with the campaign.
  [[nodiscard]] std::shared_ptr<cupel::http::EventStream> subscribe(
      std::uint64_t after, std::optional<CampaignId> campaign);
  /// Number of the newest event. Thread-safe.
  [[nodiscard]] std::uint64_t last_event() const;

 private:
  struct Listener;
  void take(std::vector<EventRow> events);
  void join(Listener* listener);
  void leave(Listener* listener);
  boost::asio::awaitable<void> feed(std::shared_ptr<Listener> listener);
  boost::asio::awaitable<Result<std::vector<EventRow>>> next(std::shared_ptr<Listener> listener);

  boost::asio::io_context& loop_;
  ReadPool& readers_;
  std::size_t ring_max_;
  std::deque<EventRow> ring_;
  std::uint64_t before_ring_;  ///< Number of the newest event that is not in the ring any more.
  std::uint64_t last_;
  std::unordered_set<Listener*> listeners_;

  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::size_t listening_ = 0;
  std::uint64_t newest_;  ///< Of all that was published.
};

/// `{v, seq, ts, type, campaign, ...}` on one line.
[[nodiscard]] std::string event_json(const EventRow& event);

}  // namespace cupel::coordinator::http
