// The engine of a scenario: what it is, the containers it has, and how its calls are named.
#include "common/engine/answers.hpp"
#include "tests/engine_scenarios/read_parts.hpp"

#include <algorithm>
#include <utility>

namespace cupel::scenarios {

namespace {

using text::Node;
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
