// Rules of a scenario: which call is answered otherwise, and by which actions.
#include "tests/engine_scenarios/read_parts.hpp"

#include <utility>

namespace cupel::scenarios {

namespace {

using text::Node;
using ActionKind = Action::Kind;

const std::vector<std::pair<std::string, ActionKind>>& action_words() {
  static const std::vector<std::pair<std::string, ActionKind>> kWords = {
      {"work", ActionKind::work},
      {"healthy", ActionKind::healthy},
      {"answer", ActionKind::answer},
      {"head", ActionKind::head},
      {"bytes", ActionKind::bytes},
      {"chunk", ActionKind::chunk},
      {"last_chunk", ActionKind::last_chunk},
      {"frame", ActionKind::frame},
      {"log", ActionKind::log},
      {"pause", ActionKind::pause},
      {"until", ActionKind::until},
      {"repeat", ActionKind::repeat},
      {"piece", ActionKind::piece},
      {"down", ActionKind::down},
      {"set", ActionKind::set},
      {"upgrade", ActionKind::upgrade},
      {"close", ActionKind::close},
      {"hang", ActionKind::hang}};
  return kWords;
}

std::vector<std::string> action_names() {
  std::vector<std::string> names;
  for (const auto& [name, kind] : action_words()) names.push_back(name);
  return names;
}

std::optional<ActionKind> action_kind(std::string_view word) {
  for (const auto& [name, kind] : action_words()) {
    if (name == word) return kind;
  }
  return std::nullopt;
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
    case ActionKind::work:
      if (reader.keys(value, "work", {"after"})) reader.time(value, "after", action.time);
      return;
    case ActionKind::healthy: action.stream = read_stream_wish(reader, value, "healthy"); return;
    case ActionKind::log: action.stream = read_stream_wish(reader, value, "log"); return;
    case ActionKind::answer:
    case ActionKind::head: action.answer = read_answer(reader, value); return;
    case ActionKind::bytes:
    case ActionKind::chunk: action.bytes = reader.as_bytes(value, "bytes"); return;
    case ActionKind::frame:
      read_frame(reader, value, action.frame_stream, action.bytes, action.frame_length, nullptr);
      return;
    case ActionKind::pause: action.time = reader.as_time(value, "pause"); return;
    case ActionKind::until:
      action.word = reader.as_text(value, "until");
      if (action.word != "ended" && action.word != "gone" && action.word != "orders") {
        reader.fault(value, "until: unknown word '" + action.word + "'",
                     "known: ended, gone, orders");
      }
      return;
    case ActionKind::repeat:
      if (!reader.keys(value, "repeat", {"times", "do"})) return;
      reader.number(value, "times", action.count, kTimesMax);
      if (const Node* const body = value.find("do"))
        action.body = read_actions(reader, *body, depth + 1);
      return;
    case ActionKind::piece:
      if (!reader.keys(value, "piece", {"bytes", "every"})) return;
      reader.number(value, "bytes", action.count, kTimesMax);
      reader.time(value, "every", action.time);
      if (action.count == 0) reader.fault(value, "piece: 'bytes' must be at least 1");
      return;
    case ActionKind::down:
      if (!reader.keys(value, "down", {"for", "cut"})) return;
      reader.time(value, "for", action.time);
      action.word = "all";
      reader.word(value, "cut", action.word, {"all", "this"});
      return;
    case ActionKind::set:
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
    case ActionKind::last_chunk:
    case ActionKind::upgrade:
    case ActionKind::close:
    case ActionKind::hang: reader.fault(value, "this action takes no value"); return;
  }
}

bool needs_value(ActionKind kind) {
  return kind != ActionKind::work && kind != ActionKind::healthy && kind != ActionKind::log &&
         kind != ActionKind::last_chunk && kind != ActionKind::upgrade &&
         kind != ActionKind::close && kind != ActionKind::hang;
}

Action read_action(Reader& reader, const Node& node, int depth) {
  Action action;
  const bool plain = node.is_scalar();
  if (!plain && (!node.is_map() || node.entries.size() != 1)) {
    reader.fault(node, "an action is one word, or a map with one key");
    return action;
  }
  const std::string word = plain ? node.scalar : node.entries.front().key;
  const std::optional<ActionKind> kind = action_kind(word);
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

}  // namespace

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

}  // namespace cupel::scenarios
