#include "worker/core/go/plan.hpp"

#include "worker/core/go/package_list.hpp"

#include <algorithm>
#include <chrono>

namespace cupel::worker {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kListBytes = 64ULL << 20;  // -deps of a large module is some MiB
constexpr std::uint64_t kSarifBytes = 32ULL << 20;
constexpr seconds kListLimit{300};
constexpr seconds kOtherLimit{900};
constexpr seconds kTestGrace{75};  // go itself may need 60 s to end a hung test
constexpr std::uint64_t kTestFraming = 2;
constexpr seconds kNoTimeoutLimit{900};

seconds limit_or(std::uint64_t wanted_s, seconds derived) {
  return wanted_s == 0 ? derived : seconds(wanted_s);
}

std::string joined_words(const std::vector<std::string>& words, char separator) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += separator;
    out += word;
  }
  return out;
}

class Planner {
 public:
  Planner(const UnitInfo& unit, const ValidationSettings& settings, const WantedScan& scan)
      : unit_(unit), settings_(settings), scan_(scan) {}

  std::vector<PlannedCheck> plan() {
    if (scan_.only) {
      if (scan_.wanted) scan();
      return std::move(plan_);
    }
    list();
    if (settings_.build) {
      // /dev/null and not a directory: with one, go build leaves libraries out and refuses modules
      // without a main package.
      add(CheckKind::build, {"go", "build", parallel(), "-o", "/dev/null"}, kOtherLimit);
    }
    if (settings_.vet) add(CheckKind::vet, {"go", "vet", "-json", parallel()}, kOtherLimit);
    if (settings_.test.enabled) test();
    if (scan_.wanted) scan();
    for (const CustomCheck& custom : settings_.custom) {
      PlannedCheck check = base(CheckKind::custom, custom.command, seconds(custom.limit_s));
      check.name = custom.name;
      if (custom.parser == CheckParser::sarif) {
        check.limits.output_bytes = std::max(check.limits.output_bytes, kSarifBytes);
      }
      check.dump_goroutines = true;
      check.fresh_gocache = true;
      plan_.push_back(std::move(check));
    }
    return std::move(plan_);
  }

 private:
  /// With cgo on whatever the image can do: only so go list tells which packages need a C compiler.
  void list() {
    PlannedCheck check = base(CheckKind::list,
                              {"env", "CGO_ENABLED=1", "go", "list", "-e", "-deps",
                               "-json=" + std::string(go::kListFields)},
                              kListLimit);
    check.limits.output_bytes = std::max(check.limits.output_bytes, kListBytes);
    finish(std::move(check));
  }

  void test() {
    const TestSettings& wanted = settings_.test;
    std::vector<std::string> command = {"go",
                                        "test",
                                        "-json",
                                        parallel(),
                                        "-count=" + std::to_string(wanted.count),
                                        "-timeout=" + std::to_string(wanted.timeout_s) + "s"};
    if (wanted.race) command.emplace_back("-race");
    if (wanted.short_mode) command.emplace_back("-short");
    if (!wanted.shuffle.empty()) command.push_back("-shuffle=" + wanted.shuffle);
    if (!wanted.run.empty()) command.push_back("-run=" + wanted.run);
    if (!wanted.skip.empty()) command.push_back("-skip=" + wanted.skip);
    const seconds derived =
        wanted.timeout_s == 0 ? kNoTimeoutLimit : seconds(wanted.timeout_s) + kTestGrace;
    PlannedCheck check =
        base(CheckKind::test, std::move(command), limit_or(settings_.check_limit_s, derived));
    check.dump_goroutines = true;
    // The limit is for what tests print; the JSON around it is the toolchain's, and at most as much
    // again for lines of ordinary length (4.0 MiB of output were 4.7 MB of events in a recorded
    // run).
    check.limits.output_bytes *= kTestFraming;
    finish(std::move(check));
  }

  /// Source mode at symbol level, tests not read: what the released program reaches.
  void scan() {
    const Duration wanted = scan_.limit_s == 0 ? kScanLimit : Duration(seconds(scan_.limit_s));
    PlannedCheck check =
        base(CheckKind::scan,
             {std::string(kScannerPath), "-db", std::string(kDatabaseUrl), "-format", "json"},
             std::chrono::duration_cast<seconds>(wanted));
    check.limits.output_bytes = std::max(check.limits.output_bytes, kScanOutputBytes);
    check.fresh_gocache = true;
    finish(std::move(check));
  }

  void add(CheckKind kind, std::vector<std::string> command, seconds derived) {
    finish(base(kind, std::move(command), limit_or(settings_.check_limit_s, derived)));
  }

  PlannedCheck base(CheckKind kind, std::vector<std::string> command, seconds limit) const {
    PlannedCheck check;
    check.check = kind;
    check.command = std::move(command);
    check.workdir = unit_.dir.empty() ? std::string(".") : unit_.dir;
    check.limits = settings_.limits;
    check.limit = limit;
    return check;
  }

  void finish(PlannedCheck check) {
    if (!settings_.tags.empty())
      check.command.push_back("-tags=" + joined_words(settings_.tags, ','));
    check.command.insert(check.command.end(), settings_.packages.begin(), settings_.packages.end());
    plan_.push_back(std::move(check));
  }

  std::string parallel() const {
    const std::uint32_t cpus =
        std::max<std::uint32_t>(1, (settings_.limits.cpu_millis + 999) / 1000);
    return "-p=" + std::to_string(cpus);
  }

  const UnitInfo& unit_;
  const ValidationSettings& settings_;
  const WantedScan& scan_;
  std::vector<PlannedCheck> plan_;
};

}  // namespace

std::vector<PlannedCheck> plan_checks(const UnitInfo& unit, const ValidationSettings& settings,
                                      const WantedScan& scan) {
  return Planner(unit, settings, scan).plan();
}

}  // namespace cupel::worker
