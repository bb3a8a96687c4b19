#include "coordinator/core/compare/conclude.hpp"

#include "common/core/finding.hpp"
#include "coordinator/core/compare/wording.hpp"

#include <algorithm>

namespace cupel::coordinator::compare {
namespace {

using What = Tally::What;

std::uint32_t package_hits(const Book& book, const Problems& run, const std::string& package) {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      run, [&](const auto& entry) { return book.marks[entry.second.mark].package == package; }));
}

/// How often the problem of `tally` is in a run.
std::uint32_t count_in(const Book& book, const Problems& run, const Tally& tally) {
  if (tally.package) return package_hits(book, run, book.marks[tally.mark].package);
  const auto found = run.find(tally.identity);
  return found == run.end() ? 0 : found->second.count;
}

/// A finding that was concluded from what is missing names no test: it may be any of its package,
/// and any of them may be it (rule C3).
bool may_have(const Book& book, const Problems& run, const Mark& mark) {
  return std::ranges::any_of(run, [&](const auto& entry) {
    const Mark& there = book.marks[entry.second.mark];
    return (mark.inferred || there.inferred) && there.package == mark.package &&
           family_of(there) == family_of(mark);
  });
}

/// For people: the package and the test, or the file where there is no package.
std::string place_of(const Mark& mark) {
  const std::string where = mark.test.empty() ? mark.package : mark.package + " " + mark.test;
  return where.empty() ? mark.file : where;
}

class Judge {
 public:
  Judge(const Book& book, const Rules& rules) : book_(book), rules_(rules) {}

  Conclusion judge() {
    const Run& before = book_.before.front();
    const Run& after = book_.after.front();
    out_.decider = after.task;
    if (!is_conclusive(before)) return unproven(before, "before the change");
    if (!is_conclusive(after)) return unproven(after, "with the change");
    if (const std::string why = why_incomparable(before, after, rules_.go_changes, out_.explained);
        !why.empty()) {
      return inconclusive(Reason::engine, Fault::fleet, "the sides can't be compared: " + why);
    }
    out_.first = difference_of(book_, before, after);
    before_ = SideView(book_, book_.before);
    after_ = SideView(book_, book_.after);
    out_.before_runs = static_cast<std::uint32_t>(before_.size());
    out_.after_runs = static_cast<std::uint32_t>(after_.size());
    out_.flakes = before_.flakes(Side::before);
    const std::vector<Flake> of_after = after_.flakes(Side::after);
    out_.flakes.insert(out_.flakes.end(), of_after.begin(), of_after.end());
    was_passing_ = before.outcome == Outcome::passing;
    is_passing_ = after.outcome == Outcome::passing;
    if (was_passing_ && is_passing_) return say(Verdict::compatible, Fault::none, "");
    collect();
    if (out_.tallies.empty() && was_passing_ != is_passing_) {
      return inconclusive(Reason::unexplained_exit, Fault::unknown,
                          "one side fails without a finding that says why");
    }
    if (out_.tallies.empty()) {
      return say(Verdict::broken_before, Fault::repository,
                 "fails in the same way with and without the change");
    }
    if (rules_.runs == 0) {
      // One run shows nothing of what words are worth.
      for (Tally& tally : out_.tallies) {
        tally.fate = Fate::confirmed;
        if (tally.what != What::altered) continue;
        (void)fate_of_altered(tally);
        tally.fate = Fate::refuted;
      }
      return verdict();
    }
    for (Tally& tally : out_.tallies) tally.fate = fate_of(tally);
    if (any(Fate::open)) return ask();
    return verdict();
  }

 private:
  Conclusion say(Verdict verdict, Fault fault, std::string message) {
    out_.verdict = verdict;
    out_.fault = fault;
    out_.message = std::move(message);
    return std::move(out_);
  }
  Conclusion inconclusive(Reason reason, Fault fault, std::string message) {
    out_.reason = reason;
    return say(Verdict::inconclusive, fault, std::move(message));
  }
  Conclusion unproven(const Run& run, const std::string& when) {
    out_.decider = run.task;
    const Reason reason =
        run.cut && run.reason == Reason::none ? Reason::output_truncated : run.reason;
    const std::string text = run.message.empty() ? std::string(name(reason)) : run.message;
    out_.reason = reason;
    // A side that was refused or cancelled says so for the unit.
    const Verdict verdict = run.outcome == Outcome::refused || run.outcome == Outcome::cancelled
                                ? verdict_of(run.outcome)
                                : Verdict::inconclusive;
    return say(verdict, fault_of(reason), when + ": " + text);
  }

  void add(const std::vector<Item>& items, What what) {
    for (const Item& item : items) out_.tallies.push_back({item.identity, item.mark, what});
  }

  void collect() {
    add(out_.first.introduced, What::introduced);
    add(out_.first.resolved, What::resolved);
    add(out_.first.altered, What::altered);
    add_packages(out_.first.introduced, before_.problems().front(), What::introduced);
    add_packages(out_.first.resolved, after_.problems().front(), What::resolved);
  }

  /// A package that fails each time is a difference, too, where it passes on the other side, even
  /// if its findings are others each time.
  void add_packages(const std::vector<Item>& items, const Problems& other, What what) {
    std::set<std::string> packages;
    for (const Item& item : items) {
      const std::string& package = book_.marks[item.mark].package;
      if (package.empty() || package_hits(book_, other, package) > 0) continue;
      if (!packages.insert(package).second) continue;
      out_.tallies.push_back({"package|" + package + "|*", item.mark, what, Fate::open, true});
    }
  }

  Fate fate_of(Tally& tally) const {
    if (tally.what == What::altered) return fate_of_altered(tally);
    const bool introduced = tally.what == What::introduced;
    const SideView& with = introduced ? after_ : before_;
    const SideView& without = introduced ? before_ : after_;
    // More than the other side always has: two equal findings are one more than one.
    std::uint32_t base = count_in(book_, without.problems().front(), tally);
    for (const Problems& run : without.problems()) {
      base = std::min(base, count_in(book_, run, tally));
    }
    std::uint32_t hits = 0;
    std::uint32_t misses = 0;
    for (std::size_t i = 1; i < with.size(); ++i) {
      ++(count_in(book_, with.problems()[i], tally) > base ? hits : misses);
    }
    std::uint32_t against = 0;
    for (const Problems& run : without.problems()) {
      if (count_in(book_, run, tally) > base) ++against;
    }
    (introduced ? tally.after_hits : tally.before_hits) = hits + 1;
    (introduced ? tally.before_hits : tally.after_hits) = against;
    // A test that ran out of its time proves something only when it does so each time.
    const bool always = tally.package || book_.marks[tally.mark].kind == FindingKind::test_timeout;
    const std::uint32_t need = always ? rules_.runs : rules_.need;
    if (against > 0 || misses > static_cast<std::uint32_t>(rules_.runs) - need)
      return Fate::refuted;
    const bool done = with.size() > rules_.runs && without.size() > rules_.runs;
    return done ? Fate::confirmed : Fate::open;
  }

  /// The same problem with other words: only when they differ in what each side repeats.
  Fate fate_of_altered(Tally& tally) const {
    const std::vector<std::string> old_words = said(before_, tally.identity);
    const std::vector<std::string> new_words = said(after_, tally.identity);
    tally.before_hits = static_cast<std::uint32_t>(old_words.size());
    tally.after_hits = static_cast<std::uint32_t>(new_words.size());
    const bool missing = old_words.size() < before_.size() || new_words.size() < after_.size();
    if (missing || compare_wording(old_words, new_words) != Wording::other) return Fate::refuted;
    const bool done = before_.size() > rules_.runs && after_.size() > rules_.runs;
    return done ? Fate::confirmed : Fate::open;
  }

  /// What the runs of a side say of a problem, those that have it.
  static std::vector<std::string> said(const SideView& side, const std::string& identity) {
    std::vector<std::string> out;
    for (const Problems& run : side.problems()) {
      const auto found = run.find(identity);
      if (found == run.end()) continue;
      std::string& text = out.emplace_back();
      for (const std::string& words : found->second.words) text += words + '\n';
    }
    return out;
  }

  [[nodiscard]] bool any(Fate fate) const {
    return std::ranges::any_of(out_.tallies,
                               [fate](const Tally& tally) { return tally.fate == fate; });
  }
  [[nodiscard]] bool any_confirmed(What what) const {
    return std::ranges::any_of(out_.tallies, [what](const Tally& tally) {
      return tally.fate == Fate::confirmed && tally.what == what;
    });
  }

  /// The side with fewer repeats, the after side first; nothing when a side has had its share.
  Conclusion ask() {
    const std::size_t share = std::size_t{2} * rules_.runs;
    const auto wants = [&](const SideView& side) { return side.size() <= rules_.runs; };
    for (const bool after_side :
         {after_.size() <= before_.size(), after_.size() > before_.size()}) {
      const SideView& side = after_side ? after_ : before_;
      if (!wants(side)) continue;
      if (side.asked() < share) {
        out_.repeat = after_side ? Side::after : Side::before;
        return std::move(out_);
      }
      const Reason reason = side.spoiled() == nullptr || side.spoiled()->reason == Reason::none
                                ? Reason::engine
                                : side.spoiled()->reason;
      return inconclusive(
          reason, fault_of(reason),
          "the difference could not be confirmed: repeats ended " + std::string(name(reason)));
    }
    return inconclusive(Reason::engine, Fault::fleet, "the difference could not be confirmed");
  }

  [[nodiscard]] std::string counts() const {
    return "failed in " + std::to_string(before_.failing()) + " of " +
           std::to_string(before_.size()) + " runs before and " + std::to_string(after_.failing()) +
           " of " + std::to_string(after_.size()) + " runs after";
  }

  [[nodiscard]] std::string first_message(What what) const {
    return message_of(
        [what](const Tally& tally) { return tally.what == what && tally.fate == Fate::confirmed; });
  }

  /// Of the first tally that is `wanted`, findings before packages.
  template <typename Wanted>
  [[nodiscard]] std::string message_of(Wanted wanted) const {
    for (const bool package : {false, true}) {
      for (const Tally& tally : out_.tallies) {
        if (tally.package != package || !wanted(tally)) continue;
        const Mark& mark = book_.marks[tally.mark];
        const std::string text = headline_of(mark.message);
        return std::string(name(mark.kind)) + " " + place_of(mark) +
               (text.empty() ? "" : ": " + text);
      }
    }
    return counts();
  }

  /// What the before side had now and then and the comparison left out, for the end of a message.
  [[nodiscard]] std::string set_aside() const {
    constexpr std::size_t kNamedMax = 3;
    std::string text;
    std::size_t count = 0;
    for (const Flake& flake : out_.flakes) {
      if (flake.side != Side::before || ++count > kNamedMax) continue;
      text += (count == 1 ? "; set aside: " : ", ") + place_of(book_.marks[flake.mark]) +
              " (failed in " + std::to_string(flake.hits) + " of " + std::to_string(flake.runs) +
              " runs before)";
    }
    if (count > kNamedMax) text += ", and " + std::to_string(count - kNamedMax) + " more";
    return text;
  }

  /// There in every run of both sides, and its words tell nothing.
  [[nodiscard]] bool reworded(const Tally& tally) const {
    return tally.what == What::altered && tally.fate == Fate::refuted &&
           tally.before_hits == before_.size() && tally.after_hits == after_.size();
  }

  /// A failure of every after run that no before run had, nor may have had, and that enough of them
  /// would have shown.
  [[nodiscard]] bool is_new(const Tally& tally) const {
    if (tally.what != What::introduced || tally.fate != Fate::confirmed) return false;
    const Mark& mark = book_.marks[tally.mark];
    const bool known = std::ranges::any_of(before_.problems(), [&](const Problems& run) {
      return count_in(book_, run, tally) > 0 || may_have(book_, run, mark);
    });
    return !known && before_.runs_that_show(mark) >= std::max<std::size_t>(rules_.runs, 1);
  }

  /// The change's, unless every new finding is in another module than the unit's own.
  [[nodiscard]] Fault fault_of_regression() const {
    if (rules_.module.empty()) return Fault::change;
    for (const Tally& tally : out_.tallies) {
      if (!is_new(tally)) continue;
      const std::string& package = book_.marks[tally.mark].package;
      if (package.empty() || package.starts_with(rules_.module)) return Fault::change;
    }
    return Fault::dependency;
  }

  Conclusion verdict() {
    const bool worse = any_confirmed(What::introduced);
    const bool better = any_confirmed(What::resolved);
    if (was_passing_ || (!better && before_.passes_but_for_flakes())) {
      const auto fresh = [this](const Tally& tally) { return is_new(tally); };
      if (std::ranges::any_of(out_.tallies, fresh)) {
        return say(Verdict::regressed, fault_of_regression(), message_of(fresh) + set_aside());
      }
      if (!worse) return say(Verdict::flaky, Fault::repository, counts());
      return say(Verdict::flaky, Fault::repository,
                 counts() + "; it may have been there before: " + first_message(What::introduced));
    }
    // A flake of the after side hides good news: nobody knows whose it is.
    if (is_passing_ || (!worse && after_.passes_but_for_flakes())) {
      if (better && after_.failing() == 0) {
        return say(Verdict::fixed, Fault::none, first_message(What::resolved));
      }
      return say(Verdict::flaky, Fault::repository, counts());
    }
    if (worse || better || any_confirmed(What::altered)) {
      const What what = worse ? What::introduced : better ? What::resolved : What::altered;
      return say(Verdict::changed_failure, worse ? Fault::change : Fault::repository,
                 first_message(what));
    }
    // What is left fails on both sides in every run, or it is noise.
    if (!out_.first.unchanged.empty()) {
      return say(Verdict::broken_before, Fault::repository,
                 "fails in the same way with and without the change");
    }
    if (std::ranges::any_of(out_.tallies, [this](const Tally& tally) { return reworded(tally); })) {
      return say(Verdict::broken_before, Fault::repository,
                 "fails with and without the change; only its words are others in each run");
    }
    return say(Verdict::flaky, Fault::repository, counts());
  }

  const Book& book_;
  const Rules& rules_;
  SideView before_;
  SideView after_;
  bool was_passing_ = false;
  bool is_passing_ = false;
  Conclusion out_;
};

}  // namespace

Conclusion conclude(const Book& book, const Rules& rules) {
  return Judge(book, rules).judge();
}

}  // namespace cupel::coordinator::compare
