#include "coordinator/core/compare/baseline.hpp"

#include "common/core/json.hpp"
#include "coordinator/core/compare/facts_json.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace cupel::coordinator::compare {
namespace {

/// Changes when the same name would mean something else.
constexpr const char* kNameVersion = "1";
constexpr std::size_t kTextBytesMax = 256UL * 1024;

constexpr Duration kPassing = std::chrono::hours(7 * 24);
constexpr Duration kBuildFailing = std::chrono::hours(7 * 24);
constexpr Duration kTestFailing = std::chrono::hours(24);
constexpr Duration kEnvironmentFailing = std::chrono::hours(6);

bool is_of_source(FindingKind kind) {
  return kind == FindingKind::build_failure || kind == FindingKind::build_failure_dependent ||
         kind == FindingKind::setup_failure || kind == FindingKind::vet;
}

/// The first run of the before side alone, with its marks.
Book alone(const Book& book) {
  Book out;
  Run run = book.before.front();
  for (Seen& seen : run.seen) {
    out.marks.push_back(book.marks[seen.mark]);
    seen.mark = static_cast<std::uint32_t>(out.marks.size() - 1);
  }
  out.before.push_back(std::move(run));
  return out;
}

bool disagrees(const Conclusion& conclusion) {
  return conclusion.verdict == Verdict::flaky ||
         std::ranges::any_of(conclusion.flakes,
                             [](const Flake& flake) { return flake.side == Side::before; });
}

}  // namespace

std::string baseline_name(const BaselineKey& key) {
  if (key.tree.empty() || key.image.empty() || key.settings == nullptr) return {};
  const nlohmann::json parts = {kNameVersion, key.tree, key.dir, key.image,
                                cupel::to_json(*key.settings)};
  return sha256(parts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)).hex();
}

std::string baseline_text(const Book& book, const Conclusion* conclusion) {
  if (book.before.empty() || !is_conclusive(book.before.front())) return {};
  if (conclusion != nullptr && disagrees(*conclusion)) return {};
  std::string text =
      to_json(alone(book)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return text.size() > kTextBytesMax ? std::string() : text;
}

Duration baseline_lifetime(const Book& book) {
  const Run& run = book.before.front();
  if (run.outcome == Outcome::passing) return kPassing;
  Duration shortest = kBuildFailing;
  for (const Seen& seen : run.seen) {
    const Mark& mark = book.marks[seen.mark];
    if (!mark.environment.empty()) return kEnvironmentFailing;
    if (!is_of_source(mark.kind)) shortest = kTestFailing;
  }
  return run.seen.empty() ? kTestFailing : shortest;
}

bool take_baseline(Book& book, std::string_view text) {
  if (!book.before.empty() || !book.marks.empty()) return false;
  Book stored = book_from_json(nlohmann::json::parse(text, nullptr, false));
  if (stored.before.size() != 1 || !is_conclusive(stored.before.front())) return false;
  book.marks = std::move(stored.marks);
  book.before = std::move(stored.before);
  return true;
}

}  // namespace cupel::coordinator::compare
