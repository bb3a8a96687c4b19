/// Reader of a `go test -json` stream (rules P1 to P19 of docs/go-streams.md). Knows what the
/// stream said, judges nothing.
#pragma once

#include "worker/core/go/test_event.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cupel::worker::go {

/// What was printed under one name: its beginning, its end and what stood out. Frames of the
/// testing package ("=== RUN", "--- PASS: …", "ok  …") are left out.
class Output {
 public:
  void add(std::string_view text);
  /// Gives the memory back: nobody reads the output of a test once its package has passed.
  void drop();
  /// Cleaned text of at most `bytes_max`; the notable line comes first when the middle was lost.
  [[nodiscard]] std::string message(std::size_t bytes_max) const;

  bool killed = false;         ///< "signal: killed" on a line of its own.
  bool no_space = false;       ///< "no space left on device"
  bool no_processes = false;   ///< fork or thread refused
  bool not_started = false;    ///< of the go command: no process for a test program
  bool no_exec = false;        ///< likewise: a test program could not be executed
  bool timed_out = false;      ///< go test's own -timeout
  bool io_incomplete = false;  ///< a child kept the test's pipes open
  bool panicked = false;
  bool repanicked = false;  ///< A panic that the testing package caught and let go on.

 private:
  void watch(std::string_view text);

  std::string head_;
  std::string tail_;
  std::string notable_;
  bool cut_ = false;
};

struct TestRecord {
  std::string name;
  std::uint32_t runs = 0;
  std::uint32_t passes = 0;
  std::uint32_t fails = 0;
  std::uint32_t skips = 0;
  bool running = false;         ///< Ran and has not ended.
  bool paused = false;          ///< Its last state is pause.
  std::uint64_t failed_at = 0;  ///< The number of the event that said its last fail.
  Output output;

  [[nodiscard]] std::uint32_t ends() const { return passes + fails + skips; }
  [[nodiscard]] bool failed() const { return fails > 0; }
};

struct PackageRecord {
  std::string name;
  bool started = false;
  std::uint32_t passes = 0;
  std::uint32_t fails = 0;
  std::uint32_t skips = 0;
  std::string failed_build;
  bool says_build_failed = false;  ///< "[build failed]" in its own output
  bool says_setup_failed = false;
  bool cached = false;
  Output output;
  std::vector<TestRecord> tests;  ///< In order of appearance.
  std::unordered_map<std::string, std::size_t> test_index;

  [[nodiscard]] std::uint32_t ends() const { return passes + fails + skips; }
  [[nodiscard]] bool failed() const { return fails > 0; }
};

/// Text of the builder under one "# package" line.
struct BuildSection {
  std::string package;  ///< What stands behind "# ", empty before the first.
  bool vet = false;     ///< It came under "# [package]": vet speaks, not the compiler.
  std::string text;     ///< Without the header lines, at most 16 KiB.
};

struct BuildRecord {
  std::string import_path;  ///< As the events say it, such as "p [p.test]".
  bool failed = false;
  std::vector<BuildSection> sections;
};

struct TestStream {
  std::vector<PackageRecord> packages;  ///< In order of appearance.
  std::vector<BuildRecord> builds;
  std::unordered_map<std::string, std::size_t> package_index;  ///< By name.
  std::unordered_map<std::string, std::size_t> build_index;    ///< By import path.
  std::uint64_t events = 0;
  std::uint64_t non_json_lines = 0;
  std::string first_non_json;  ///< Cleaned, at most 200 bytes.
  bool cut_last_line = false;  ///< The stream ended inside a line.
  bool too_much = false;       ///< More names or longer lines than the reader keeps.

  [[nodiscard]] const PackageRecord* package(const std::string& name) const;
  [[nodiscard]] const BuildRecord* build(const std::string& import_path) const;
};

/// Takes the bytes in pieces of any size; the same bytes give the same stream however they are cut.
class TestStreamReader {
 public:
  static constexpr std::size_t kLineBytesMax = 8UL * 1024 * 1024;
  static constexpr std::size_t kPackagesMax = 20'000;
  static constexpr std::size_t kTestsMax = 500'000;

  void feed(std::string_view bytes);
  /// Once; the reader is spent afterwards.
  [[nodiscard]] TestStream finish();

 private:
  void line(std::string_view text);
  void build_event(const TestEvent& event);
  void package_event(PackageRecord& package, const TestEvent& event);
  void test_event(PackageRecord& package, const TestEvent& event);
  PackageRecord* package(const std::string& name);
  TestRecord* test(PackageRecord& package, const std::string& name);

  TestStream stream_;
  std::size_t tests_ = 0;
  std::string pending_;
  bool skipping_ = false;  ///< Inside a line that is over the limit.
};

[[nodiscard]] TestStream read_test_stream(std::string_view bytes);

}  // namespace cupel::worker::go
