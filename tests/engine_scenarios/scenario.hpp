/// One scenario as data: what a scripted engine does, what Cupel is made to do against it, and what
/// must come of it. docs/engine-scenarios.md describes the file that it is read from.
#pragma once

#include "common/core/time.hpp"
#include "common/docker/client.hpp"
#include "common/text/diagnostic.hpp"
#include "worker/run/run_executor.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cupel::scenarios {

/// "METHOD /path?key=value": `*` stands for one segment, `**` for the rest; the API version is not
/// part of the path.
struct CallPattern {
  std::string text;  ///< As written.
  std::string method;
  std::vector<std::string> segments;
  std::map<std::string, std::string>
      query;  ///< These must be there with these values; "none" = must not be there.
};

// ---- what is expected --------------------------------------------------------------------------

/// What a fact must be. All that is set must hold.
struct Wanted {
  int line = 0;
  int column = 0;
  std::optional<std::string> is = {};
  std::optional<std::string> is_not = {};
  std::vector<std::string> contains = {};
  std::vector<std::string> contains_not = {};
  std::vector<std::string> one_of = {};
  std::optional<double> at_least = {};  ///< Durations as seconds.
  std::optional<double> at_most = {};
};
using WantedFacts = std::map<std::string, Wanted>;

struct ExpectedCall {
  CallPattern pattern;
  int line = 0;
  std::uint64_t times_min = 1;
  std::uint64_t times_max = 1;
  WantedFacts body = {};  ///< JSON pointer -> value in the request's body.
};
/// One call, or several in any order among themselves.
struct ExpectedGroup {
  std::vector<ExpectedCall> calls;
};

// ---- what the engine does ----------------------------------------------------------------------

enum class Framing : std::uint8_t { length, chunked, close };

struct HttpAnswer {
  unsigned status = 200;
  std::string version = "1.1";
  std::map<std::string, std::string> headers = {};
  std::string body = {};
  Framing framing = Framing::length;
  std::optional<std::uint64_t> length = {};  ///< Said instead of the true one.
};

/// A container's state, or a part of it that changes.
struct ContainerPart {
  std::string container;  ///< Id; "this" = the one of the request.
  std::optional<std::string> state = {};
  std::optional<std::int64_t> exit_code = {};
  std::optional<bool> oom_killed = {};
  std::optional<Duration> age =
      {};             ///< Since it was created (or, in a change to running, started).
  bool gone = false;  ///< Not there any more.
};

/// How much of a stream of frames is passed on, and how.
struct StreamWish {
  std::uint64_t skip_frames = 0;
  std::uint64_t frames_max = UINT64_MAX;
  std::uint64_t bytes_max = UINT64_MAX;
  bool hang = false;  ///< At its end the connection stays open; else it is closed.
};

struct Action {
  enum class Kind : std::uint8_t {
    work,
    healthy,
    answer,
    head,
    bytes,
    chunk,
    last_chunk,
    frame,
    log,
    pause,
    until,
    repeat,
    piece,
    down,
    set,
    upgrade,
    close,
    hang,
  };
  Kind kind = Kind::healthy;
  Duration time{};         ///< pause, piece (between two), down, work (later)
  std::string bytes = {};  ///< bytes, chunk, frame; may hold placeholders
  HttpAnswer answer = {};  ///< answer, head
  StreamWish stream = {};  ///< healthy, log
  unsigned frame_stream = 1;
  std::optional<std::uint32_t> frame_length = {};
  std::string word = {};    ///< until: ended, gone, orders; down: all, waits, none (what is cut)
  std::uint64_t count = 0;  ///< repeat: times; piece: bytes
  std::vector<Action> body = {};
  ContainerPart part = {};
  std::string api = {};  ///< set of the engine
  std::string min_api = {};
};

struct Rule {
  CallPattern on;
  std::uint64_t skip = 0;
  std::uint64_t times = UINT64_MAX;
  std::vector<Action> actions;
};

/// The end trailer as a program writes it; what isn't set is the truth.
struct Ending {
  std::int64_t exit_code = 0;
  std::string end = "self";
  std::int64_t signal = 0;
  std::int64_t oom = 0;
  std::int64_t pids = 0;
  bool tmp_full = false;
  bool left = false;
  std::string what = {};
  bool trailer = true;
  std::optional<std::string> nonce = {};
  std::optional<std::uint64_t> out_bytes = {};
  std::optional<std::uint64_t> err_bytes = {};
  std::optional<std::int64_t> engine_code = {};  ///< What the engine says; exit_code otherwise.
  bool oom_killed = false;
};

struct ProgramStep {
  enum class Kind : std::uint8_t { frame, raw, pause, repeat, exit, hang };
  Kind kind = Kind::frame;
  unsigned stream = 1;
  std::string bytes = {};
  std::optional<std::uint32_t> length = {};
  bool uncounted = false;  ///< The wrapper's own counts don't know it.
  Duration time{};
  std::uint64_t times = 0;
  std::vector<ProgramStep> body = {};
  Ending ending = {};
};

/// What a container does once it was started and has its orders.
struct Program {
  bool start_marker = true;
  bool obeys_orders = true;  ///< "kill" and "end" on stdin, and the end of stdin.
  bool dies_by_kill = true;
  std::vector<ProgramStep> steps = {};
};

struct OldContainer {
  std::string id;
  std::string name;
  std::string state = "exited";
  std::int64_t exit_code = 0;
  Duration age = std::chrono::hours(1);
  bool labelled = true;  ///< Cupel's labels, of this worker unless said otherwise.
  std::map<std::string, std::string> labels =
      {};  ///< Added, or instead of Cupel's own; "none" takes one away.
  std::optional<std::uint64_t> fleet = {};
  std::optional<std::uint64_t> worker = {};
  std::optional<std::uint64_t> incarnation = {};
  std::string run = {};  ///< "run-ID" when empty.
  Duration deadline{};   ///< The deadline label, relative to now.
  std::uint64_t count = 1;
};

struct EngineSetup {
  std::string api = "1.41";
  std::string min_api = "1.12";
  std::string name = "docker";
  std::string version = "20.10.24";
  bool image_present = true;
  bool image_labelled = true;  ///< Says whether it has a C compiler, so that nobody looks.
  std::vector<OldContainer> containers = {};
  std::vector<Program> programs = {};
  std::vector<Rule> rules = {};
};

// ---- what Cupel is made to do ------------------------------------------------------------------

struct RunStep {
  Duration limit = std::chrono::seconds(5);
  std::string profile = "execute";
  std::uint64_t output_bytes = std::uint64_t{64} * 1024;
  bool dump = false;
  std::optional<Duration> cancel_after = {};
  std::uint64_t times = 1;
  std::uint64_t at_once = 1;
};
struct ReapStep {
  std::uint64_t times = 1;
};
struct CallStep {
  std::string name;
  std::string container = "c1";
  std::string labels = {};
  std::string path = "/usr/bin/gcc";
  std::string signal = "KILL";
  Duration limit = std::chrono::seconds(2);
  std::uint64_t bytes_max = std::uint64_t{1} << 20U;
  bool force = true;
};
struct PauseStep {
  Duration time{};
};
struct SetStep {
  ContainerPart part;
};
struct Step {
  std::variant<RunStep, ReapStep, CallStep, PauseStep, SetStep> what = RunStep{};
  int line = 0;
  bool background = false;
  WantedFacts expect = {};
};

struct WorkerSetup {
  std::uint64_t fleet = 1;
  std::uint64_t worker = 10;
  std::uint64_t incarnation = 5;
  Duration grace = std::chrono::seconds(60);
  Duration pass_budget = std::chrono::seconds(5);
  std::uint64_t reap_at_once = 4;
  std::uint64_t calls_max = 16;
};

struct Scenario {
  std::string file;
  std::string title;
  std::vector<std::string> covers;
  std::string healthy;
  Duration time_limit = std::chrono::seconds(10);
  docker::EngineBudgets budgets;
  Duration retry_pause = std::chrono::milliseconds(30);
  worker::RunTimes times;
  Duration dump_grace = std::chrono::milliseconds(200);
  Duration wrapper_slack = std::chrono::seconds(1);
  WorkerSetup worker;
  EngineSetup engine;
  std::vector<Step> drive;
  bool calls_checked = true;
  std::vector<ExpectedGroup> calls;
  std::vector<CallPattern> never;
  WantedFacts end;
};

struct ReadScenario {
  std::optional<Scenario> scenario;  ///< Set when there is no fault.
  std::vector<text::Diagnostic> faults;
};
/// `slower`: every time in it, and every default, is that many times as long.
[[nodiscard]] ReadScenario read_scenario(std::string_view text, const std::string& file,
                                         unsigned slower = 1);

/// Facts that an expectation may name: of a kind of step ("run", "reap", or the name of a call) and
/// at the end ("end").
[[nodiscard]] const std::vector<std::string>& facts_of(const std::string& kind);
/// Names of the client's calls that a step can make.
[[nodiscard]] const std::vector<std::string>& call_names();

}  // namespace cupel::scenarios
