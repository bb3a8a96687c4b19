#include "worker/core/go/test_stream.hpp"

#include "worker/core/go/text.hpp"

#include <algorithm>

namespace cupel::worker::go {
namespace {

constexpr std::size_t kBuildsMax = 20'000;
constexpr std::size_t kSectionsMax = 64;
constexpr std::size_t kSectionBytesMax = 16UL * 1024;
constexpr std::size_t kNonJsonBytes = 200;

void add_build_text(BuildRecord& build, std::string_view text) {
  const std::string_view line = text.ends_with('\n') ? text.substr(0, text.size() - 1) : text;
  if (line.starts_with("# [") && line.ends_with("]") && !build.sections.empty()) {
    build.sections.back().vet = true;
    return;
  }
  if (line.starts_with("# ") && build.sections.size() < kSectionsMax) {
    build.sections.push_back({.package = clean_name(line.substr(2)), .vet = false, .text = {}});
    return;
  }
  if (build.sections.empty()) build.sections.emplace_back();
  std::string& kept = build.sections.back().text;
  if (kept.size() < kSectionBytesMax) kept += text.substr(0, kSectionBytesMax - kept.size());
}

}  // namespace

const PackageRecord* TestStream::package(const std::string& name) const {
  const auto found = package_index.find(name);
  return found == package_index.end() ? nullptr : &packages[found->second];
}

const BuildRecord* TestStream::build(const std::string& import_path) const {
  const auto found = build_index.find(import_path);
  return found == build_index.end() ? nullptr : &builds[found->second];
}

void TestStreamReader::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (!skipping_ && pending_.size() + piece.size() > kLineBytesMax) {
      skipping_ = true;
      stream_.too_much = true;
      pending_ = {};
    }
    if (end == std::string_view::npos) {
      if (!skipping_) pending_ += piece;
      return;
    }
    if (!skipping_) {
      if (pending_.empty()) {
        line(piece);
      } else {
        pending_ += piece;
        line(pending_);
        pending_.clear();
      }
    }
    skipping_ = false;
    bytes.remove_prefix(end + 1);
  }
}

TestStream TestStreamReader::finish() {
  if (skipping_ || !pending_.empty()) {
    stream_.cut_last_line = true;
    if (!skipping_) line(pending_);
  }
  return std::move(stream_);
}

void TestStreamReader::line(std::string_view text) {
  if (trim(text).empty()) return;
  auto event = parse_event(text);
  if (!event) {
    if (stream_.non_json_lines++ == 0) stream_.first_non_json = clean(text, kNonJsonBytes);
    return;
  }
  ++stream_.events;
  if (event->package.empty()) {
    if (!event->import_path.empty()) build_event(*event);
    return;
  }
  PackageRecord* record = package(event->package);
  if (record == nullptr) return;
  if (event->has_test && !event->test.empty()) {
    test_event(*record, *event);
  } else {
    package_event(*record, *event);
  }
}

void TestStreamReader::build_event(const TestEvent& event) {
  if (event.action != "build-output" && event.action != "build-fail") return;
  const auto [found, added] =
      stream_.build_index.try_emplace(event.import_path, stream_.builds.size());
  if (added) {
    if (stream_.builds.size() >= kBuildsMax) {
      stream_.build_index.erase(found);
      stream_.too_much = true;
      return;
    }
    stream_.builds.push_back({.import_path = event.import_path, .failed = false, .sections = {}});
  }
  BuildRecord& build = stream_.builds[found->second];
  if (event.action == "build-fail") {
    build.failed = true;
  } else {
    add_build_text(build, event.output);
  }
}

void TestStreamReader::package_event(PackageRecord& package, const TestEvent& event) {
  if (event.action == "start") {
    package.started = true;
  } else if (event.action == "pass") {
    ++package.passes;
    // Only now: a forged end of a test may be followed by its real one.
    for (TestRecord& test : package.tests) {
      if (!test.failed() && !test.running) test.output.drop();
    }
  } else if (event.action == "skip") {
    ++package.skips;
  } else if (event.action == "fail") {
    ++package.fails;
    if (package.failed_build.empty()) package.failed_build = event.failed_build;
  } else if (event.action == "output") {
    const std::string_view text = event.output;
    if (text.starts_with("FAIL\t")) {
      if (text.find("[build failed]") != std::string_view::npos) package.says_build_failed = true;
      if (text.find("[setup failed]") != std::string_view::npos) package.says_setup_failed = true;
    }
    if (text.starts_with("ok  \t") && text.find("(cached)") != std::string_view::npos) {
      package.cached = true;
    }
    package.output.add(text);
  }
}

void TestStreamReader::test_event(PackageRecord& package, const TestEvent& event) {
  TestRecord* record = test(package, event.test);
  if (record == nullptr) return;
  const auto ended = [&](std::uint32_t& count) {
    ++count;
    record->running = false;
    record->paused = false;
  };
  if (event.action == "run") {
    ++record->runs;
    record->running = true;
    record->paused = false;
  } else if (event.action == "pause") {
    record->paused = true;
  } else if (event.action == "cont") {
    record->paused = false;
  } else if (event.action == "output") {
    record->output.add(event.output);
  } else if (event.action == "fail") {
    ended(record->fails);
    record->failed_at = stream_.events;
  } else if (event.action == "pass") {
    ended(record->passes);
  } else if (event.action == "skip") {
    ended(record->skips);
  }
}

PackageRecord* TestStreamReader::package(const std::string& name) {
  const auto [found, added] = stream_.package_index.try_emplace(name, stream_.packages.size());
  if (added) {
    if (stream_.packages.size() >= kPackagesMax) {
      stream_.package_index.erase(found);
      stream_.too_much = true;
      return nullptr;
    }
    stream_.packages.emplace_back();
    stream_.packages.back().name = name;
  }
  return &stream_.packages[found->second];
}

TestRecord* TestStreamReader::test(PackageRecord& package, const std::string& name) {
  const auto [found, added] = package.test_index.try_emplace(name, package.tests.size());
  if (added) {
    if (tests_ >= kTestsMax) {
      package.test_index.erase(found);
      stream_.too_much = true;
      return nullptr;
    }
    ++tests_;
    package.tests.emplace_back();
    package.tests.back().name = name;
  }
  return &package.tests[found->second];
}

TestStream read_test_stream(std::string_view bytes) {
  TestStreamReader reader;
  reader.feed(bytes);
  return reader.finish();
}

}  // namespace cupel::worker::go
