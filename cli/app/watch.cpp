#include "cli/app/watch.hpp"

#include "cli/app/commands.hpp"
#include "cli/app/connection.hpp"
#include "cli/core/exit_codes.hpp"
#include "cli/core/fleet_view.hpp"
#include "cli/core/gate.hpp"
#include "cli/core/progress.hpp"
#include "cli/core/reports.hpp"
#include "cli/core/results_view.hpp"
#include "cli/core/retry.hpp"
#include "common/fs/files.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <filesystem>

namespace cupel::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSilenceMax = std::chrono::seconds(30);
constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kStandstill = std::chrono::seconds(10);

/// Progress on the screen: a block that is redrawn, or a line for each unit.
class Display {
 public:
  Display(Console& console, bool events) : console_(console), events_(events) {}

  void start(const json& summary) {
    progress_.start(text_of(summary, "id") + " " + text_of(summary, "name"),
                    static_cast<std::size_t>(number_of(summary, "repositories")));
    redraw(true);
  }

  [[nodiscard]] bool idle() const { return progress_.idle(); }
  /// Why nothing goes on: said once, shown until something does.
  void note(const std::string& line) {
    progress_.note(line);
    if (console_.progress_lines() && line != noted_) console_.say(line);
    noted_ = line;
    redraw(true);
  }

  /// False once the campaign has finished.
  bool take(const httpclient::Event& event) {
    const json body = json::parse(event.data, nullptr, false);
    if (!body.is_object()) return true;
    if (events_) console_.out(body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
    const auto line = progress_.take(body);
    if (console_.progress_lines()) tell(line);
    redraw(progress_.finished());
    return !progress_.finished();
  }

 private:
  /// A line for each unit; and where units take long, one that something happens.
  void tell(const std::optional<std::string>& line) {
    const auto now = Clock::now();
    if (line) {
      console_.say(*line);
    } else if (now - told_ < kSilenceMax || progress_.finished()) {
      return;
    } else {
      console_.say(progress_.state_line(std::chrono::duration<double>(now - began_).count()));
    }
    told_ = now;
  }

  void redraw(bool now) {
    if (!console_.progress_block() || (!now && Clock::now() - drawn_ < kRedraw)) return;
    drawn_ = Clock::now();
    console_.draw(progress_.block(console_.err_columns(),
                                  std::chrono::duration<double>(drawn_ - began_).count()));
  }

  Console& console_;
  Progress progress_;
  bool events_;
  std::string noted_;
  Clock::time_point began_ = Clock::now();
  Clock::time_point told_ = began_;
  Clock::time_point drawn_;
};

/// Errors: io_error. Returns the two paths as a line.
Result<std::string> write_report_files(const ReportData& data, const Request& request,
                                       const std::string& campaign) {
  const std::filesystem::path dir = request.report_dir.empty()
                                        ? std::filesystem::path("cupel-reports") / campaign
                                        : std::filesystem::path(request.report_dir);
  std::error_code failure;
  std::filesystem::create_directories(dir, failure);
  if (failure)
    return Error{Errc::io_error, "can't make " + dir.string() + ": " + failure.message(), "",
                 "--report-dir names another folder"};
  if (const auto written = fs::write_file_durably(dir / "report.json", report_json(data), 0644);
      !written)
    return written.error();
  if (const auto written =
          fs::write_file_durably(dir / "report.md", report_markdown(data, 0), 0644);
      !written)
    return written.error();
  return (dir / "report.md").string() + " and " + (dir / "report.json").string();
}

}  // namespace

Result<WatchEnd> watch_campaign(httpclient::Client& client, const std::string& campaign,
                                Console& console, Interrupts& interrupts,
                                const std::function<Result<void>()>& look_after) {
  const auto path = campaign_path(campaign);
  if (!path) return path.error();
  Display display(console, console.ndjson());
  const auto summary = client.get(*path);
  if (!summary) return summary.error();
  display.start(*summary);
  interrupts.remind(kStandstill);
  std::string last_id;
  while (true) {
    const auto result =
        client.events(*path + "/events", last_id, [&](const httpclient::Event& event) {
          last_id = event.id;
          return display.take(event);
        });
    if (result) {
      // A reminder would look like an interruption of the calls that follow.
      interrupts.remind(Duration{});
      // The end that was seen may be an earlier one: a replayed dead letter opens its campaign
      // again.
      const auto now = client.get(*path);
      if (!now) return now.error();
      if (!text_of(*now, "finished").empty()) return WatchEnd::finished;
      interrupts.remind(kStandstill);
      continue;
    }
    if (result.error().code != Errc::cancelled) {
      console.clear();
      return result.error();
    }
    const Interrupts::What what = interrupts.take();
    if (what.signal != 0 || what.timeout) {
      console.clear();
      return what.signal == SIGINT ? WatchEnd::interrupted
             : what.signal != 0    ? WatchEnd::terminated
                                   : WatchEnd::timed_out;
    }
    if (what.reminder && display.idle()) {
      // A coordinator that can't tell is one that the stream of events tells about.
      if (const auto waits = client.get(*path + "/why")) {
        if (const auto line = standstill(*waits)) display.note(*line);
      }
    }
    if (!what.watched.empty() && look_after) {
      if (const auto looked = look_after(); !looked) {
        console.clear();
        return looked.error();
      }
    }
  }
}

int code_of_end(WatchEnd end) {
  switch (end) {
    case WatchEnd::interrupted: return kExitInterrupted;
    case WatchEnd::terminated: return kExitTerminated;
    case WatchEnd::timed_out: return kExitStillRunning;
    case WatchEnd::finished: break;
  }
  return kExitDone;
}

Result<void> cancel_leftovers(httpclient::Client& client, Console& console) {
  const auto running = client.get("/api/v1/campaigns?state=running&limit=200");
  if (!running) return running.error();
  for (const json& summary : list_of(*running, "campaigns")) {
    const std::string id = text_of(summary, "id");
    const auto path = campaign_path(id);
    if (!path) continue;
    if (const auto cancelled = client.post(*path + "/cancel", ""); !cancelled)
      return cancelled.error();
    console.say("campaign " + id + " was left unfinished by an earlier local run; it is cancelled");
  }
  return boost::system::in_place_value;
}

void cancel_local(httpclient::Client& client, const std::string& campaign, Console& console,
                  Interrupts& interrupts) {
  console.say(
      "stopping: the campaign is cancelled and running checks are ended; Ctrl-C again stops at "
      "once");
  interrupts.limit(std::chrono::seconds(20));
  const auto path = campaign_path(campaign);
  if (!path || !client.post(*path + "/cancel", "")) return;
  (void)watch_campaign(client, campaign, console, interrupts);
  interrupts.no_limit();
}

int conclude(httpclient::Client& client, const std::string& campaign, const Request& request,
             Console& console, const ReportData* earlier) {
  auto data = fetch_report_data(client, campaign);
  if (!data) return fail(console, data.error());
  if (earlier != nullptr) *data = merged(*earlier, std::move(*data));
  console.clear();
  const auto paths = write_report_files(*data, request, campaign);
  const GateAnswer gate = judge_gate(*data);
  if (request.globals.format == "json") {
    console.out(report_json(*data));
  } else if (request.globals.format == "text") {
    console.out(results_table(data->results, {console.color(), console.out_columns()}));
    console.out("\n" + results_summary(*data) + gate.sentence + "\n");
    if (paths) console.out("report: " + *paths + "\n");
  }
  if (!paths) return fail(console, paths.error());
  const bool verdict_code = gate.exit_code == kExitGate || gate.exit_code == kExitInconclusive;
  return request.exit_zero && verdict_code ? kExitDone : gate.exit_code;
}

}  // namespace cupel::cli
