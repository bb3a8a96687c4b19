#include "worker/core/agent/coordinators.hpp"

#include <algorithm>

namespace cupel::worker {

Coordinators::Coordinators(CoordinatorsSettings settings, TimePoint now)
    : settings_(settings), leave_at_(now + settings.patience), heard_(now) {
  silence_ = spread(settings_.silence);
}

// Up to a quarter longer: a fleet that lost its coordinator doesn't knock at one moment.
Duration Coordinators::spread(Duration duration) {
  settings_.random = settings_.random * 6364136223846793005ULL + 1442695040888963407ULL;
  return duration + duration * static_cast<int>((settings_.random >> 33U) % 256) / 1024;
}

void Coordinators::turned_away(TimePoint now) {
  // The one who leads may be asked at once; after a whole round there is none yet.
  const bool all_asked = fruitless_ % settings_.count == settings_.count - 1;
  const TimePoint leave = all_asked ? now + spread(settings_.pause) : now;
  leave_at_ = std::min(leave_at_, leave);
}

// What isn't connected yet, or is turned away, is tried again by the link itself.
bool Coordinators::is_stuck(bool in_session, bool connected, TimePoint now) {
  if (in_session || !connected) heard_ = now;
  if (in_session && fruitless_ > 0) {
    fruitless_ = 0;
    silence_ = spread(settings_.silence);
  }
  if (now - heard_ < silence_) return false;
  ++fruitless_;
  heard_ = now;
  const auto growths = static_cast<int>(std::min<std::size_t>(fruitless_, 100));
  const Duration grown = settings_.silence + settings_.silence / 2 * growths;
  silence_ = spread(std::min(grown, settings_.silence_max));
  return true;
}

bool Coordinators::tick(bool in_session, bool connected, TimePoint now) {
  if (settings_.count < 2) return is_stuck(in_session, connected, now);
  if (in_session) {
    fruitless_ = 0;
    leave_at_ = now + settings_.patience;
    return false;
  }
  if (now < leave_at_) return false;
  current_ = (current_ + 1) % settings_.count;
  ++fruitless_;
  Duration patience = settings_.patience;
  for (std::size_t round = fruitless_ / settings_.count;
       round > 0 && patience < settings_.patience_max; --round) {
    patience += patience / 2;
  }
  leave_at_ = now + spread(std::min(patience, settings_.patience_max));
  return true;
}

}  // namespace cupel::worker
