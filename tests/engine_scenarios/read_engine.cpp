// What the engine of a scenario does: containers, programs, rules and their actions.
#include "common/engine/answers.hpp"
#include "tests/engine_scenarios/read_parts.hpp"

#include <algorithm>
#include <utility>

namespace cupel::scenarios {

namespace {

using text::Node;
using Kind = Action::Kind;

constexpr std::uint64_t kTimesMax = 1'000'000;
constexpr int kDepthMax = 8;

const std::vector<std::pair<std::string, Kind>>& action_words() {
  static const std::vector<std::pair<std::string, Kind>> kWords = {{"work", Kind::work},
                                                                   {"healthy", Kind::healthy},
                                                                   {"answer", Kind::answer},
                                                                   {"head", Kind::head},
                                                                   {"bytes", Kind::bytes},
                                                                   {"chunk", Kind::chunk},
                                                                   {"last_chunk", Kind::last_chunk},
                                                                   {"frame", Kind::frame},
                                                                   {"log", Kind::log},
                                                                   {"pause", Kind::pause},
                                                                   {"until", Kind::until},
                                                                   {"repeat", Kind::repeat},
                                                                   {"piece", Kind::piece},
                                                                   {"down", Kind::down},
                                                                   {"set", Kind::set},
                                                                   {"upgrade", Kind::upgrade},
                                                                   {"close", Kind::close},
                                                                   {"hang", Kind::hang}};
  return kWords;
}

std::vector<std::string> action_names() {
  std::vector<std::string> names;
  for (const auto& [name, kind] : action_words()) names.push_back(name);
  return names;
}

std::optional<Kind> action_kind(std::string_view word) {
  for (const auto& [name, kind] : action_words()) {
    if (name == word) return kind;
  }
  return std::nullopt;
}

unsigned read_stream(Reader& reader, const Node& node) {
  if (node.is_scalar() && node.scalar == "stdout") return 1;
  if (node.is_scalar() && node.scalar == "stderr") return 2;
  return static_cast<unsigned>(reader.as_number(node, "stream (stdout, stderr or a number)", 255));
}

void read_frame(Reader& reader, const Node& node, unsigned& stream, std::string& bytes,
                std::optional<std::uint32_t>& length, bool* uncounted) {
  std::vector<std::string> known = {"stream", "text", "length"};
  if (uncounted != nullptr) known.emplace_back("uncounted");
  if (!reader.keys(node, "frame", known)) return;
  if (const Node* const which = node.find("stream")) stream = read_stream(reader, *which);
  reader.bytes(node, "text", bytes);
  if (const Node* const said = node.find("length")) {
    length = static_cast<std::uint32_t>(reader.as_number(*said, "length", UINT32_MAX));
  }
  if (uncounted != nullptr) reader.flag(node, "uncounted", *uncounted);
}

HttpAnswer read_answer(Reader& reader, const Node& node) {
  HttpAnswer answer;
  if (!reader.keys(node, "answer", {"status", "version", "headers", "body", "framing", "length"}))
    return answer;
  std::uint64_t status = answer.status;
  reader.number(node, "status", status, 999);
  answer.status = static_cast<unsigned>(status);
  reader.word(node, "version", answer.version, {"1.0", "1.1"});
  reader.bytes(node, "body", answer.body);
  std::string framing = "length";
  reader.word(node, "framing", framing, {"length", "chunked", "close"});
  answer.framing = framing == "chunked" ? Framing::chunked
                   : framing == "close" ? Framing::close
                                        : Framing::length;
  if (const Node* const length = node.find("length")) {
    answer.length = reader.as_number(*length, "length", UINT64_MAX);
    if (answer.framing != Framing::length)
      reader.fault(*length, "length: only with framing: length");
  }
  if (const Node* const headers = node.find("headers")) {
    if (!headers->is_map()) reader.fault(*headers, "headers: must be a map");
    for (const text::Entry& entry : headers->entries) {
      answer.headers[entry.key] = reader.as_bytes(entry.value, "headers." + entry.key);
    }
  }
  return answer;
}

StreamWish read_stream_wish(Reader& reader, const Node& node, const std::string& what) {
  StreamWish wish;
  if (!reader.keys(node, what, {"skip_frames", "frames", "bytes", "then"})) return wish;
  reader.number(node, "skip_frames", wish.skip_frames, kTimesMax);
  reader.number(node, "frames", wish.frames_max, kTimesMax);
  reader.number(node, "bytes", wish.bytes_max, UINT64_MAX);
  std::string then = "close";
  reader.word(node, "then", then, {"close", "hang"});
  wish.hang = then == "hang";
  return wish;
}

std::vector<Action> read_actions(Reader& reader, const Node& node, int depth);

/// The value of an action that has one.
void read_action_value(Reader& reader, const Node& value, Action& action, int depth) {
  switch (action.kind) {
    case Kind::work:
      if (reader.keys(value, "work", {"after"})) reader.time(value, "after", action.time);
      return;
    case Kind::healthy: action.stream = read_stream_wish(reader, value, "healthy"); return;
    case Kind::log: action.stream = read_stream_wish(reader, value, "log"); return;
    case Kind::answer:
    case Kind::head: action.answer = read_answer(reader, value); return;
    case Kind::bytes:
    case Kind::chunk: action.bytes = reader.as_bytes(value, "bytes"); return;
    case Kind::frame:
      read_frame(reader, value, action.frame_stream, action.bytes, action.frame_length, nullptr);
      return;
    case Kind::pause: action.time = reader.as_time(value, "pause"); return;
    case Kind::until:
      action.word = reader.as_text(value, "until");
      if (action.word != "ended" && action.word != "gone" && action.word != "orders") {
        reader.fault(value, "until: unknown word '" + action.word + "'",
                     "known: ended, gone, orders");
      }
      return;
    case Kind::repeat:
      if (!reader.keys(value, "repeat", {"times", "do"})) return;
      reader.number(value, "times", action.count, kTimesMax);
      if (const Node* const body = value.find("do"))
        action.body = read_actions(reader, *body, depth + 1);
      return;
    case Kind::piece:
      if (!reader.keys(value, "piece", {"bytes", "every"})) return;
      reader.number(value, "bytes", action.count, kTimesMax);
      reader.time(value, "every", action.time);
      if (action.count == 0) reader.fault(value, "piece: 'bytes' must be at least 1");
      return;
    case Kind::down:
      if (!reader.keys(value, "down", {"for", "cut"})) return;
      reader.time(value, "for", action.time);
      action.word = "all";
      reader.word(value, "cut", action.word, {"all", "this"});
      return;
    case Kind::set:
      if (value.is_map() && value.find("engine") != nullptr) {
        const Node& engine = *value.find("engine");
        if (!reader.keys(value, "set", {"engine"})) return;
        if (!reader.keys(engine, "engine", {"api", "min_api"})) return;
        reader.text(engine, "api", action.api);
        reader.text(engine, "min_api", action.min_api);
        return;
      }
      action.part = read_part(reader, value, true);
      return;
    case Kind::last_chunk:
    case Kind::upgrade:
    case Kind::close:
    case Kind::hang: reader.fault(value, "this action takes no value"); return;
  }
}

bool needs_value(Kind kind) {
  return kind != Kind::work && kind != Kind::healthy && kind != Kind::log &&
         kind != Kind::last_chunk && kind != Kind::upgrade && kind != Kind::close &&
         kind != Kind::hang;
}

Action read_action(Reader& reader, const Node& node, int depth) {
  Action action;
  const bool plain = node.is_scalar();
  if (!plain && (!node.is_map() || node.entries.size() != 1)) {
    reader.fault(node, "an action is one word, or a map with one key");
    return action;
  }
  const std::string word = plain ? node.scalar : node.entries.front().key;
  const std::optional<Kind> kind = action_kind(word);
  if (!kind) {
    const std::string near = text::nearest_word(word, action_names());
    reader.fault(node, "unknown action '" + word + "'",
                 near.empty() ? "" : "did you mean '" + near + "'?");
    return action;
  }
  action.kind = *kind;
  if (plain) {
    if (needs_value(*kind)) reader.fault(node, "action '" + word + "' needs a value");
    return action;
  }
  read_action_value(reader, node.entries.front().value, action, depth);
  return action;
}

std::vector<Action> read_actions(Reader& reader, const Node& node, int depth) {
  std::vector<Action> all;
  if (!node.is_list() || node.items.empty()) {
    reader.fault(node, "do: must be a list of actions");
    return all;
  }
  if (depth > kDepthMax) {
    reader.fault(node, "repeat: too deep");
    return all;
  }
  for (const Node& item : node.items) all.push_back(read_action(reader, item, depth));
  return all;
}

Ending read_ending(Reader& reader, const Node& node) {
  Ending ending;
  if (node.is_scalar()) {
    ending.exit_code = static_cast<std::int64_t>(reader.as_number(node, "exit", 255));
    return ending;
  }
  if (!reader.keys(node, "exit",
                   {"code", "end", "signal", "oom", "pids", "tmp_full", "left", "what", "trailer",
                    "nonce", "stdout_bytes", "stderr_bytes", "engine_code", "oom_killed"})) {
    return ending;
  }
  reader.number(node, "code", ending.exit_code);
  reader.word(node, "end", ending.end, {"self", "limit", "order", "eof", "mount", "exec"});
  reader.number(node, "signal", ending.signal);
  reader.number(node, "oom", ending.oom);
  reader.number(node, "pids", ending.pids);
  reader.flag(node, "tmp_full", ending.tmp_full);
  reader.flag(node, "left", ending.left);
  reader.text(node, "what", ending.what);
  reader.flag(node, "trailer", ending.trailer);
  if (const Node* const nonce = node.find("nonce")) ending.nonce = reader.as_text(*nonce, "nonce");
  if (const Node* const count = node.find("stdout_bytes")) {
    ending.out_bytes = reader.as_number(*count, "stdout_bytes", UINT64_MAX);
  }
  if (const Node* const count = node.find("stderr_bytes")) {
    ending.err_bytes = reader.as_number(*count, "stderr_bytes", UINT64_MAX);
  }
  if (node.find("engine_code") != nullptr) {
    std::int64_t code = 0;
    reader.number(node, "engine_code", code);
    ending.engine_code = code;
  }
  reader.flag(node, "oom_killed", ending.oom_killed);
  return ending;
}

std::vector<ProgramStep> read_steps(Reader& reader, const Node& node, int depth);

ProgramStep read_program_step(Reader& reader, const Node& node, int depth) {
  ProgramStep step;
  if (node.is_scalar() && node.scalar == "hang") {
    step.kind = ProgramStep::Kind::hang;
    return step;
  }
  static const std::vector<std::string> kWords = {"stdout", "stderr", "frame", "raw",
                                                  "pause",  "repeat", "exit"};
  if (!node.is_map() || node.entries.size() != 1) {
    reader.fault(
        node,
        "a step of a program is 'hang', or a map with one of stdout, stderr, frame, raw, pause, "
        "repeat, exit");
    return step;
  }
  if (!reader.keys(node, "program step", kWords)) return step;
  const std::string& word = node.entries.front().key;
  const Node& value = node.entries.front().value;
  if (word == "stdout" || word == "stderr") {
    step.stream = word == "stdout" ? 1 : 2;
    step.bytes = reader.as_bytes(value, word);
  } else if (word == "frame") {
    read_frame(reader, value, step.stream, step.bytes, step.length, &step.uncounted);
  } else if (word == "raw") {
    step.kind = ProgramStep::Kind::raw;
    step.bytes = reader.as_bytes(value, word);
  } else if (word == "pause") {
    step.kind = ProgramStep::Kind::pause;
    step.time = reader.as_time(value, word);
  } else if (word == "exit") {
    step.kind = ProgramStep::Kind::exit;
    step.ending = read_ending(reader, value);
  } else {
    step.kind = ProgramStep::Kind::repeat;
    if (!reader.keys(value, "repeat", {"times", "do"})) return step;
    reader.number(value, "times", step.times, kTimesMax);
    if (const Node* const body = value.find("do")) step.body = read_steps(reader, *body, depth + 1);
  }
  return step;
}

std::vector<ProgramStep> read_steps(Reader& reader, const Node& node, int depth) {
  std::vector<ProgramStep> all;
  if (!node.is_list()) reader.fault(node, "a program is a list of steps");
  if (depth > kDepthMax) reader.fault(node, "repeat: too deep");
  if (!node.is_list() || depth > kDepthMax) return all;
  for (const Node& item : node.items) all.push_back(read_program_step(reader, item, depth));
  return all;
}

}  // namespace

CallPattern read_pattern(Reader& reader, const Node& node) {
  CallPattern pattern;
  pattern.text = reader.as_text(node, "a call");
  const std::size_t space = pattern.text.find(' ');
  static const std::vector<std::string> kMethods = {"GET", "POST", "DELETE", "HEAD", "PUT", "*"};
  pattern.method = pattern.text.substr(0, space);
  if (space == std::string::npos || std::ranges::find(kMethods, pattern.method) == kMethods.end() ||
      space + 1 >= pattern.text.size() || pattern.text[space + 1] != '/') {
    if (node.is_scalar()) {
      reader.fault(node,
                   "'" + pattern.text + "' is no call: METHOD /path or METHOD /path?key=value",
                   "METHOD is one of GET, POST, DELETE, HEAD, PUT, *; the API version is left out");
    }
    return pattern;
  }
  std::string path = pattern.text.substr(space + 1);
  if (const std::size_t mark = path.find('?'); mark != std::string::npos) {
    std::string query = path.substr(mark + 1) + "&";
    path.resize(mark);
    for (std::size_t end = query.find('&'); end != std::string::npos; end = query.find('&')) {
      const std::string pair = query.substr(0, end);
      query.erase(0, end + 1);
      const std::size_t equals = pair.find('=');
      if (equals == std::string::npos) {
        reader.fault(node, "'" + pair + "' is no key=value");
        break;
      }
      pattern.query[pair.substr(0, equals)] = pair.substr(equals + 1);
    }
  }
  if (path.size() > 2 && path[1] == 'v' && path[2] >= '0' && path[2] <= '9') {
    reader.fault(node, "the API version is not part of the path", "leave it out");
  }
  path += "/";
  for (std::size_t begin = 1, end = path.find('/', 1); end != std::string::npos;
       begin = end + 1, end = path.find('/', begin)) {
    pattern.segments.push_back(path.substr(begin, end - begin));
  }
  return pattern;
}

ContainerPart read_part(Reader& reader, const Node& node, bool in_rule) {
  ContainerPart part;
  if (!reader.keys(node, "set", {"container", "state", "exit_code", "oom_killed", "age", "gone"}))
    return part;
  if (in_rule) part.container = "this";
  reader.text(node, "container", part.container);
  if (part.container.empty()) reader.fault(node, "set: 'container' is missing");
  if (node.find("state") != nullptr) {
    std::string state = "running";
    reader.word(node, "state", state,
                {"created", "running", "paused", "restarting", "removing", "exited", "dead"});
    part.state = state;
  }
  if (node.find("exit_code") != nullptr) {
    std::int64_t code = 0;
    reader.number(node, "exit_code", code);
    part.exit_code = code;
  }
  if (node.find("oom_killed") != nullptr) {
    bool killed = false;
    reader.flag(node, "oom_killed", killed);
    part.oom_killed = killed;
  }
  if (node.find("age") != nullptr) {
    Duration age{};
    reader.time(node, "age", age);
    part.age = age;
  }
  reader.flag(node, "gone", part.gone);
  return part;
}

OldContainer read_container(Reader& reader, const Node& node) {
  OldContainer one;
  if (!reader.keys(node, "container",
                   {"id", "name", "state", "exit_code", "age", "labelled", "labels", "deadline",
                    "count", "fleet", "worker", "incarnation", "run"})) {
    return one;
  }
  reader.text(node, "id", one.id);
  if (!engine::is_container_ref(one.id))
    reader.fault(node, "container: 'id' must be a name of letters and digits");
  one.name = "old-" + one.id;
  reader.text(node, "name", one.name);
  reader.word(node, "state", one.state,
              {"created", "running", "paused", "restarting", "removing", "exited", "dead"});
  reader.number(node, "exit_code", one.exit_code);
  reader.time(node, "age", one.age);
  reader.flag(node, "labelled", one.labelled);
  reader.time(node, "deadline", one.deadline);
  reader.number(node, "count", one.count, 100'000);
  reader.text(node, "run", one.run);
  for (const auto& [key, out] : {std::pair{"fleet", &one.fleet}, std::pair{"worker", &one.worker},
                                 std::pair{"incarnation", &one.incarnation}}) {
    if (const Node* const number = node.find(key)) *out = reader.as_number(*number, key, INT64_MAX);
  }
  if (const Node* const labels = node.find("labels")) {
    if (!labels->is_map()) reader.fault(*labels, "labels: must be a map");
    for (const text::Entry& entry : labels->entries) {
      one.labels[entry.key] = reader.as_text(entry.value, "labels." + entry.key);
    }
  }
  return one;
}

Program read_program(Reader& reader, const Node& node) {
  Program program;
  if (node.is_list()) {
    program.steps = read_steps(reader, node, 0);
    return program;
  }
  if (!reader.keys(node, "program", {"start_marker", "obeys_orders", "dies_by_kill", "steps"}))
    return program;
  reader.flag(node, "start_marker", program.start_marker);
  reader.flag(node, "obeys_orders", program.obeys_orders);
  reader.flag(node, "dies_by_kill", program.dies_by_kill);
  if (const Node* const steps = node.find("steps")) program.steps = read_steps(reader, *steps, 0);
  return program;
}

Rule read_rule(Reader& reader, const Node& node) {
  Rule rule;
  if (!reader.keys(node, "rule", {"on", "skip", "times", "do"})) return rule;
  if (const Node* const on = node.find("on")) {
    rule.on = read_pattern(reader, *on);
  } else {
    reader.fault(node, "rule: 'on' is missing");
  }
  reader.number(node, "skip", rule.skip, kTimesMax);
  reader.number(node, "times", rule.times, kTimesMax);
  if (const Node* const actions = node.find("do")) {
    rule.actions = read_actions(reader, *actions, 0);
  } else {
    reader.fault(node, "rule: 'do' is missing");
  }
  return rule;
}

void read_engine(Reader& reader, const Node& node, EngineSetup& setup) {
  if (!reader.keys(node, "engine", {"api", "min_api", "name", "version", "image"})) return;
  for (const auto& [key, out] :
       {std::pair{"api", &setup.api}, std::pair{"min_api", &setup.min_api}}) {
    reader.text(node, key, *out);
    if (node.find(key) != nullptr && !engine::ApiVersion::parse(*out)) {
      reader.fault(*node.find(key), std::string(key) + ": must be a version such as \"1.41\"");
    }
  }
  reader.word(node, "name", setup.name, {"docker", "podman"});
  reader.text(node, "version", setup.version);
  std::string image = "present";
  reader.word(node, "image", image, {"present", "missing", "unlabelled"});
  setup.image_present = image != "missing";
  setup.image_labelled = image != "unlabelled";
}

}  // namespace cupel::scenarios
