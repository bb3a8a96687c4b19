#include "common/text/document.hpp"

#include "common/text/document_builder.hpp"

#include <utility>

namespace cupel::text {

bool Node::is_empty() const {
  return kind == Kind::null || (kind == Kind::scalar && scalar.empty()) ||
         (kind == Kind::list && items.empty()) || (kind == Kind::map && entries.empty());
}

const Node* Node::find(std::string_view key) const {
  for (const Entry& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

DocumentBuilder::DocumentBuilder(std::string file, const DocumentLimits& limits)
    : file_(std::move(file)), limits_(limits) {}

void DocumentBuilder::stop(Errc code, std::string message, int line, int column,
                           std::string hint) const {
  throw StopReading{{file_, line, column, code, std::move(message), std::move(hint)}};
}

void DocumentBuilder::count_node(int line, int column) {
  if (++nodes_ > limits_.nodes) {
    stop(Errc::too_large, "more than " + std::to_string(limits_.nodes) + " values", line, column);
  }
}

void DocumentBuilder::scalar(std::string text, bool quoted, int line, int column) {
  count_node(line, column);
  Node node;
  node.kind = Node::Kind::scalar;
  node.scalar = std::move(text);
  node.quoted = quoted;
  node.line = line;
  node.column = column;
  place(std::move(node));
}

void DocumentBuilder::null(int line, int column) {
  count_node(line, column);
  Node node;
  node.line = line;
  node.column = column;
  place(std::move(node));
}

void DocumentBuilder::begin(Node::Kind kind, int line, int column) {
  count_node(line, column);
  if (levels_.size() >= limits_.depth) {
    stop(Errc::bad_value, "nested more than " + std::to_string(limits_.depth) + " levels deep",
         line, column);
  }
  if (!levels_.empty() && levels_.back().node.is_map() && !levels_.back().key_pending) {
    stop(Errc::yaml_syntax, "a key must be plain text, not a list or a mapping", line, column);
  }
  Level level;
  level.node.kind = kind;
  level.node.line = line;
  level.node.column = column;
  levels_.push_back(std::move(level));
}

void DocumentBuilder::end() {
  Node node = std::move(levels_.back().node);
  levels_.pop_back();
  place(std::move(node));
}

void DocumentBuilder::place(Node node) {
  if (levels_.empty()) {
    root_ = std::move(node);
    return;
  }
  Level& level = levels_.back();
  if (level.node.is_list()) {
    level.node.items.push_back(std::move(node));
    return;
  }
  if (!level.key_pending) {
    take_key(node);
    return;
  }
  level.key_pending = false;
  if (level.key_repeated) return;
  level.key.value = std::move(node);
  level.node.entries.push_back(std::move(level.key));
  level.key = {};
}

void DocumentBuilder::take_key(const Node& node) {
  Level& level = levels_.back();
  if (!node.is_scalar()) {
    stop(Errc::yaml_syntax, "a key must be plain text", node.line, node.column);
  }
  level.key.key = node.scalar;
  level.key.line = node.line;
  level.key.column = node.column;
  level.key_pending = true;
  level.key_repeated = !level.keys.insert(node.scalar).second;
  if (level.key_repeated && faults_.size() < limits_.faults) {
    faults_.push_back(
        {file_, node.line, node.column, Errc::duplicate_key,
         "\"" + std::string(node.scalar.substr(0, 80)) + "\" stands twice in this mapping",
         "keep one of the two"});
  }
}

Document DocumentBuilder::finish() {
  return {std::move(root_), std::move(faults_)};
}

}  // namespace cupel::text
