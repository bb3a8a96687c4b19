// Everything that a container can print, from reader to judgement. The first byte says how the run
// ended; a zero byte divides the four texts: list, test stdout, test stderr, vet stdout.
#include "worker/core/go/judge.hpp"
#include "worker/core/go/test_stream.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace cupel;
using namespace cupel::worker;

void require(bool holds) {
  if (!holds) std::abort();
}

std::string_view next_part(std::string_view& rest) {
  const auto end = rest.find('\0');
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return part;
}

CheckRun run_of(CheckKind check, std::string_view out, std::string_view err, unsigned char how) {
  CheckRun run{.check = check, .name = {}, .command = {"go", "-json"}, .report = {}};
  RunReport& report = run.report;
  report.started = true;
  report.end_marker = true;
  report.exit_code = report.engine_exit_code = how & 1U;
  report.ended_by = (how & 2U) != 0 ? EndedBy::check_limit : EndedBy::itself;
  report.oom_kills = (how & 4U) != 0 ? 1 : 0;
  report.out = {.bytes = std::string(out),
                .total = out.size(),
                .truncated = (how & 8U) != 0,
                .complete = true};
  report.err = {
      .bytes = std::string(err), .total = err.size(), .truncated = false, .complete = true};
  return run;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const unsigned char how = data[0];
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string_view list = next_part(rest);
  const std::string_view test = next_part(rest);
  const std::string_view test_err = next_part(rest);
  const std::string_view vet = next_part(rest);

  // The same stream however it is cut.
  go::TestStreamReader reader;
  const std::size_t half = test.size() / 2;
  reader.feed(test.substr(0, half));
  reader.feed(test.substr(half));
  const go::TestStream cut = reader.finish();
  const go::TestStream whole = go::read_test_stream(test);
  require(cut.events == whole.events && cut.non_json_lines == whole.non_json_lines);
  require(cut.packages.size() == whole.packages.size());

  JudgeContext context;
  context.unit.dir = ".";
  context.unit.module_path = "m";
  context.cgo_available = (how & 16U) != 0;
  context.notes.submodules = {"third/lib"};
  std::vector<CheckRun> runs;
  runs.push_back(run_of(CheckKind::list, list, {}, 0));
  runs.push_back(run_of(CheckKind::vet, vet, rest, how & 1U));
  runs.push_back(run_of(CheckKind::test, test, test_err, how));
  const Judgement judgement = judge(context, runs);
  require(judgement.checks.size() == 3);
  // No words make a pass out of a run that proves nothing.
  if ((how & 11U) != 0) require(judgement.checks[2].outcome != Outcome::passing);
  if (judgement.outcome == Outcome::passing) require(judgement.reason == Reason::none);
  for (const Finding& finding : judgement.findings) {
    require(!finding.key.empty() && finding.message.size() <= 4096 &&
            finding.package.size() <= 4096);
    require(finding.message.find('\0') == std::string::npos);
  }
  return 0;
}
