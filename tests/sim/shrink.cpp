#include "tests/sim/shrink.hpp"

#include <algorithm>

namespace cupel::sim {
namespace {

// Two runs fail in the same way when they say the same up to the first number (ids differ).
std::string way_of(const std::string& broken) {
  return broken.substr(0, broken.find_first_of("0123456789"));
}

class Shrinker {
 public:
  Shrinker(const Options& failing, std::size_t tries_max)
      : tries_max_(tries_max), best_{failing, simulate(failing), 1} {
    best_.options.trace = false;
    way_ = way_of(best_.outcome.broken);
  }

  Shrunk run() {
    // Fewer parts first: whatever is left out here needn't be tried again for each fault.
    for (const std::int64_t count : {1, 2, 3}) {
      if (attempt([count](Options& options) { options.workers_max = count; })) break;
    }
    for (const std::int64_t count : {1, 2, 4}) {
      if (attempt([count](Options& options) { options.repositories_max = count; })) break;
    }
    for (std::uint32_t bit = 0; bit < kNoiseNames.size(); ++bit) {
      attempt([bit](Options& options) { options.quiet |= 1U << bit; });
    }
    leave_out_faults();
    return best_;
  }

 private:
  template <typename Change>
  bool attempt(Change change) {
    if (best_.tries >= tries_max_) return false;
    Options options = best_.options;
    change(options);
    Outcome outcome = simulate(options);
    ++best_.tries;
    if (outcome.broken.empty() || way_of(outcome.broken) != way_) return false;
    best_.options = std::move(options);
    best_.outcome = std::move(outcome);
    return true;
  }

  // In halves, quarters, ..., one by one; until a pass of single ones finds nothing more.
  void leave_out_faults() {
    std::size_t chunk = std::max<std::size_t>(best_.outcome.planned / 2, 1);
    for (;;) {
      bool found = false;
      for (std::size_t from = 0; from < best_.outcome.planned; from += chunk) {
        const std::size_t to = std::min(from + chunk, best_.outcome.planned);
        const std::size_t before = best_.options.without.size();
        const bool smaller = attempt([from, to](Options& options) {
          for (std::size_t fault = from; fault < to; ++fault) options.without.insert(fault);
        });
        found = found || (smaller && best_.options.without.size() > before);
      }
      if (chunk > 1) {
        chunk /= 2;
      } else if (!found || best_.tries >= tries_max_) {
        return;
      }
    }
  }

  std::size_t tries_max_;
  Shrunk best_;
  std::string way_;
};

}  // namespace

Shrunk shrink(const Options& failing, std::size_t tries_max) {
  return Shrinker(failing, tries_max).run();
}

std::string arguments_of(const Options& options) {
  std::string text = "--seeds 1 --first " + std::to_string(options.seed);
  if (options.calm) text += " --calm";
  if (options.plant != Plant::none) {
    text += " --plant " + std::string(kPlantNames.at(static_cast<std::size_t>(options.plant)));
  }
  const auto list = [&text](const std::string& flag, const std::string& words) {
    if (!words.empty()) text += " " + flag + " " + words.substr(1);
  };
  std::string words;
  for (const std::size_t fault : options.without) words += "," + std::to_string(fault);
  list("--without", words);
  words.clear();
  for (std::size_t bit = 0; bit < kNoiseNames.size(); ++bit) {
    if ((options.quiet & 1U << bit) != 0) words += "," + std::string(kNoiseNames.at(bit));
  }
  list("--quiet", words);
  if (options.repositories_max < 1000) {
    text += " --repositories " + std::to_string(options.repositories_max);
  }
  if (options.workers_max < 1000) text += " --workers " + std::to_string(options.workers_max);
  return text;
}

}  // namespace cupel::sim
