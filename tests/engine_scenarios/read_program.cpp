// What a container does once it runs: the steps of its program, down to the trailer of its wrapper.
#include "tests/engine_scenarios/read_parts.hpp"

#include <utility>

namespace cupel::scenarios {

namespace {

using text::Node;

unsigned read_stream(Reader& reader, const Node& node) {
  if (node.is_scalar() && node.scalar == "stdout") return 1;
  if (node.is_scalar() && node.scalar == "stderr") return 2;
  return static_cast<unsigned>(reader.as_number(node, "stream (stdout, stderr or a number)", 255));
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

}  // namespace cupel::scenarios
