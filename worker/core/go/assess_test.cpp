// go test -json: the rules P5 to P19.
#include "worker/core/go/assess.hpp"

#include "common/core/limits.hpp"
#include "worker/core/go/command_error.hpp"
#include "worker/core/go/keys.hpp"
#include "worker/core/go/test_builds.hpp"
#include "worker/core/go/text.hpp"

#include <algorithm>
#include <set>

namespace cupel::worker::go {
namespace {

constexpr std::size_t kNamesInNote = 20;

bool is_benchmark(const TestRecord& test) {
  return test.name.starts_with("Benchmark");
}

class TestAssessor {
 public:
  explicit TestAssessor(const Surroundings& around)
      : around_(around),
        stream_(read_test_stream(around.report.out.bytes)),
        text_(read_build_text(around.report.err.bytes, false)),
        findings_(around, out_),
        builds_(around, stream_, text_, findings_, out_) {}

  Assessment run() {
    for (const PackageRecord& package : stream_.packages) {
      if (around_.list_usable && around_.list.find(package.name) == nullptr) {
        findings_.note(package.name, "unknown_package_in_stream: go list does not know it");
        continue;
      }
      one(package);
    }
    builds_.unreferenced();
    complaints();
    // Where the go command stopped before the first package, nothing is missing from the stream.
    if (!stream_.packages.empty() || !out_.explained) listed_without_events();
    stream_notes();
    return std::move(out_);
  }

 private:
  // ---- one package ----------------------------------------------------------------------------

  void one(const PackageRecord& package) {
    ++out_.packages;
    for (const TestRecord& test : package.tests) {
      if (test.ends() > 0) ++out_.tests;
    }
    oddities(package);
    if (package.ends() == 0) {
      unfinished(package);
    } else if (!package.failed()) {
      passed(package);
    } else if (package.says_setup_failed || package.says_build_failed ||
               !package.failed_build.empty()) {
      failed_tests(package, true);
      builds_.broken(package);
    } else {
      failed(package);
    }
  }

  void oddities(const PackageRecord& package) {
    if (package.ends() > 1)
      findings_.note(package.name, "several_package_ends: more than one end event");
    if (package.cached)
      findings_.note(package.name, "cached_result: the result is a replay (cached)");
    for (const TestRecord& test : package.tests) {
      if (test.ends() > test.runs) {
        findings_.note(package.name, "end_without_run: more end events than runs", test.name);
      }
    }
  }

  static std::vector<const TestRecord*> running(const PackageRecord& package, bool paused) {
    // Leaves only: a parent runs as long as one of its subtests does.
    std::set<std::string_view> parents;
    for (const TestRecord& test : package.tests) {
      if (test.running) each_parent(test.name, [&](std::string_view p) { parents.insert(p); });
    }
    std::vector<const TestRecord*> leaves;
    for (const TestRecord& test : package.tests) {
      if (test.running && test.paused == paused && !is_benchmark(test) &&
          !parents.contains(test.name)) {
        leaves.push_back(&test);
      }
    }
    return leaves;
  }

  template <typename Function>
  static void each_parent(std::string_view name, Function&& function) {
    for (auto slash = name.rfind('/'); slash != std::string_view::npos && slash > 0;
         slash = name.rfind('/', slash - 1)) {
      function(name.substr(0, slash));
    }
  }

  /// Reports the failed tests; true when there is one.
  bool failed_tests(const PackageRecord& package, bool ended) {
    std::set<std::string_view> derived;
    bool any = false;
    for (const TestRecord& test : package.tests) {
      if (!test.failed()) continue;
      any = true;
      each_parent(test.name, [&](std::string_view parent) { derived.insert(parent); });
    }
    const TestRecord* last = nullptr;
    for (const TestRecord& test : package.tests) {
      if (!test.failed() || derived.contains(test.name)) continue;
      if (last == nullptr || last->failed_at < test.failed_at) last = &test;
    }
    for (const TestRecord& test : package.tests) {
      if (!test.failed()) continue;
      std::string message = test.output.message(kMessageBytesMax);
      if (&test == last) add_panic_told_later(package, test, message);
      if (derived.contains(test.name)) {
        findings_.add(FindingKind::test_failure_derived, package.name, test.name,
                      std::move(message));
      } else if (!resource(package, &test, message)) {
        findings_.add(FindingKind::test_failure, package.name, test.name, std::move(message),
                      ended);
      }
    }
    return any;
  }

  /// A subtest that panics has its end told first, then the ends of its parents, then the panic,
  /// which so stands in the output of a parent; that of an example stands in its package's. It
  /// ended the process: the last to fail is its cause.
  static void add_panic_told_later(const PackageRecord& package, const TestRecord& test,
                                   std::string& message) {
    if (test.output.panicked) return;
    const Output* panicked = package.output.repanicked ? &package.output : nullptr;
    each_parent(test.name, [&](std::string_view name) {
      const auto found = package.test_index.find(std::string(name));
      if (panicked != nullptr || found == package.test_index.end()) return;
      const TestRecord& parent = package.tests[found->second];
      if (parent.failed() && parent.output.panicked) panicked = &parent.output;
    });
    if (panicked == nullptr) return;
    message.resize(cut(message, kMessageBytesMax / 2).size());
    if (!message.empty()) message += '\n';
    message += panicked->message(kMessageBytesMax);
  }

  /// A failure that the sandbox's limits made. `test`: whose words they are; nullptr: the
  /// package's.
  bool resource(const PackageRecord& package, const TestRecord* test, const std::string& message) {
    const Output& output = test == nullptr ? package.output : test->output;
    const std::string_view name = test == nullptr ? std::string_view{} : test->name;
    // A test that ran shows that test programs can be executed, whatever it says.
    const bool never_ran = test == nullptr && package.tests.empty();
    if (output.no_space) {
      findings_.obstacle(FindingKind::resource_limit, Reason::resource_disk, package.name, name,
                         message);
    } else if ((output.no_processes && around_.may_lack_processes()) ||
               (output.not_started && never_ran)) {
      findings_.obstacle(FindingKind::resource_limit, Reason::resource_pids, package.name, name,
                         message);
    } else if (output.no_exec && never_ran) {
      findings_.obstacle(FindingKind::environment, Reason::sandbox_noexec_tmp, package.name, name,
                         message);
    } else {
      return false;
    }
    return true;
  }

  void passed(const PackageRecord& package) {
    if (failed_tests(package, true)) {
      findings_.note(package.name,
                     "package_pass_with_failed_test: the package says pass though a test failed");
    }
    for (const bool paused : {false, true}) {
      for (const TestRecord* test : running(package, paused)) {
        findings_.add(FindingKind::test_unfinished, package.name, test->name,
                      message_or(*test, "the test ran and never ended"));
        findings_.apply(Reason::incomplete_stream);
        ++out_.tests_not_run;
      }
    }
    zero_tests(package);
  }

  void zero_tests(const PackageRecord& package) {
    std::uint32_t executed = 0;
    std::uint32_t leaves_not_skipped = 0;
    std::set<std::string_view> parents;
    for (const TestRecord& test : package.tests) {
      each_parent(test.name, [&](std::string_view parent) { parents.insert(parent); });
    }
    for (const TestRecord& test : package.tests) {
      if (test.runs > 0 || test.ends() > 0) ++executed;
      const bool skipped = test.skips > 0 && test.passes + test.fails == 0;
      if (!parents.contains(test.name) && !skipped) ++leaves_not_skipped;
    }
    if (executed == 0 && package.passes > 0) {
      findings_.note(package.name,
                     "zero_tests_executed: the package passes without running a test");
    } else if (executed > 0 && leaves_not_skipped == 0) {
      findings_.note(package.name, "all_skipped: every test of the package was skipped");
    }
  }

  void unfinished(const PackageRecord& package, std::string_view why = {}) {
    failed_tests(package, false);
    if (why.empty()) {
      why = package.started ? "the package started and has no end" : "the package has no end";
    }
    findings_.add(FindingKind::package_unfinished, package.name, {}, std::string(why));
    findings_.apply(Reason::incomplete_stream);
    for (const bool paused : {false, true}) {
      for (const TestRecord* test : running(package, paused)) {
        findings_.add(FindingKind::test_unfinished, package.name, test->name,
                      message_or(*test, "the test ran and never ended"));
        ++out_.tests_not_run;
      }
    }
    cut_short(package);
  }

  void failed(const PackageRecord& package) {
    const std::vector<const TestRecord*> open = running(package, false);
    const bool timed_out = seen(package, &Output::timed_out);
    const bool killed = seen(package, &Output::killed);
    // The end that our own limit made says nothing about the tests.
    if (around_.hit_limit() && !timed_out && !open.empty()) {
      unfinished(package, "the check limit ended the package");
      return;
    }
    const bool explicit_failure = failed_tests(package, true);
    const std::string own = package.output.message(kMessageBytesMax);
    if (killed && around_.out_of_memory()) {
      findings_.obstacle(FindingKind::resource_limit, Reason::resource_memory, package.name, {},
                         "signal: killed (the memory limit was hit)");
      not_run(package, open, "aborted");
    } else if (timed_out) {
      timeout(package, open);
    } else if (seen(package, &Output::io_incomplete)) {
      findings_.add(FindingKind::io_incomplete, package.name, {}, own);
    } else if (resource(package, nullptr, own)) {
      not_run(package, open, "aborted");
    } else if (explicit_failure) {
      not_run(package, open, "aborted");
    } else {
      without_failed_test(package, open, own);
    }
    not_run(package, running(package, true), "not_run");
    if (!open.empty() || seen(package, &Output::panicked) || (!explicit_failure && !killed)) {
      cut_short(package);
    }
  }

  /// Rule P12, and P10a for the only test that can have been the cause.
  void without_failed_test(const PackageRecord& package, const std::vector<const TestRecord*>& open,
                           const std::string& own) {
    std::string message = own;
    for (const TestRecord* test : open) {
      if (!message.empty()) break;
      message = test->output.message(kMessageBytesMax);
    }
    findings_.add(FindingKind::package_failure, package.name, {}, std::move(message));
    if (open.size() != 1) {
      not_run(package, open, "aborted");
      return;
    }
    std::string said = message_or(*open.front(), "");
    if (!resource(package, open.front(), said)) {
      findings_.add(FindingKind::test_failure, package.name, open.front()->name, std::move(said));
      out_.findings.back().inferred = true;
    }
  }

  void timeout(const PackageRecord& package, const std::vector<const TestRecord*>& open) {
    std::string text = package.output.timed_out ? package.output.message(kMessageBytesMax) : "";
    for (const TestRecord& test : package.tests) {
      if (text.empty() && test.output.timed_out) text = test.output.message(kMessageBytesMax);
    }
    if (open.empty()) {
      findings_.add(FindingKind::test_timeout, package.name, {}, text);
      return;
    }
    for (const TestRecord* test : open) {
      findings_.add(FindingKind::test_timeout, package.name, test->name,
                    test->output.timed_out ? test->output.message(kMessageBytesMax) : text);
    }
  }

  void not_run(const PackageRecord& package, const std::vector<const TestRecord*>& tests,
               std::string_view word) {
    for (const TestRecord* test : tests) {
      findings_.note(package.name, std::string(word) + ": the package ended first", test->name);
      ++out_.tests_not_run;
    }
  }

  void cut_short(const PackageRecord& package) {
    const ListedPackage* listed = around_.list.find(package.name);
    if (listed == nullptr || listed->test_files.empty()) return;
    CutShort cut{.package = package.name,
                 .dir = around_.dir_of(package.name),
                 .files = listed->test_files,
                 .seen = {}};
    for (const TestRecord& test : package.tests) {
      if (test.name.find('/') == std::string::npos) cut.seen.push_back(test.name);
    }
    out_.cut_short.push_back(std::move(cut));
  }

  static bool seen(const PackageRecord& package, bool Output::* flag) {
    return package.output.*flag || std::ranges::any_of(package.tests, [&](const TestRecord& test) {
             return test.output.*flag;
           });
  }

  static std::string message_or(const TestRecord& test, std::string_view fallback) {
    std::string message = test.output.message(kMessageBytesMax);
    return message.empty() ? std::string(fallback) : message;
  }

  // ---- the whole stream -------------------------------------------------------------------------

  void listed_without_events() {
    if (!around_.list_usable) return;
    std::string names;
    std::size_t missing = 0;
    for (const ListedPackage& listed : around_.list.packages) {
      if (listed.dep_only || stream_.package(listed.import_path) != nullptr) continue;
      if (listed.uses_cgo && !around_.context.cgo_available) {
        findings_.obstacle(FindingKind::environment, Reason::cgo_unavailable, listed.import_path,
                           {}, "its Go files need cgo, and the image has no C compiler");
        continue;
      }
      std::string said = builds_.stderr_text(listed.import_path);
      if (!said.empty()) {
        findings_.broken_package(FindingKind::setup_failure, listed.import_path, std::move(said));
        continue;
      }
      if (++missing <= kNamesInNote) names += (names.empty() ? "" : ", ") + listed.import_path;
    }
    if (missing == 0) return;
    findings_.note({}, "packages_not_run: " + std::to_string(missing) +
                           " listed packages have no event: " + names +
                           (missing > kNamesInNote ? ", ..." : ""));
    findings_.apply(Reason::incomplete_stream);
  }

  void complaints() {
    for (const TextProblem& problem : text_.problems) {
      if (problem.kind == TextProblem::Kind::command) findings_.command_problem(problem.message);
    }
    if (text_.no_packages) {
      findings_.note({}, text_.no_packages_line);
      findings_.apply(Reason::no_packages);
    }
  }

  void stream_notes() {
    if (stream_.non_json_lines > 0) {
      findings_.note({}, "non_json_lines: " + std::to_string(stream_.non_json_lines) +
                             ", the first: " + stream_.first_non_json);
    }
    if (stream_.too_much) findings_.apply(Reason::parse_failed);
    if (stream_.cut_last_line) findings_.apply(Reason::incomplete_stream);
    bool executed = false;
    for (const PackageRecord& package : stream_.packages) {
      executed = executed || !package.tests.empty() || package.failed();
    }
    if (!executed && !stream_.packages.empty()) {
      findings_.note({}, "zero_tests_executed: no package of the unit ran a test");
    }
  }

  const Surroundings& around_;
  TestStream stream_;
  BuildText text_;
  Assessment out_;
  Findings findings_;
  TestBuilds builds_;
};

}  // namespace

Assessment assess_test(const Surroundings& around) {
  return TestAssessor(around).run();
}

}  // namespace cupel::worker::go
