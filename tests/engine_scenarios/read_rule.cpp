// Rules of a scenario: which call is answered otherwise, and by which actions.
#include "tests/engine_scenarios/read_parts.hpp"

#include <utility>

namespace cupel::scenarios {

namespace {

using text::Node;
using Kind = Action::Kind;

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
