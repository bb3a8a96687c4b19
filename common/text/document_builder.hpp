/// Builds a document from the events of a reader, within limits. Shared by the YAML and JSON
/// readers.
#pragma once

#include "common/text/document.hpp"

#include <string>
#include <unordered_set>
#include <vector>

namespace cupel::text {

/// Thrown by the builder through the reader's library to end the reading; caught in document_*.cpp.
struct StopReading {
  Diagnostic fault;
};

class DocumentBuilder {
 public:
  DocumentBuilder(std::string file, const DocumentLimits& limits);

  void scalar(std::string text, bool quoted, int line, int column);
  void null(int line, int column);
  void begin(Node::Kind kind, int line, int column);
  void end();
  [[noreturn]] void stop(Errc code, std::string message, int line, int column,
                         std::string hint = "") const;
  [[nodiscard]] Document finish();

 private:
  struct Level {
    Node node;
    bool key_pending = false;  // a map: the next value belongs to `key`
    bool key_repeated = false;
    Entry key;
    std::unordered_set<std::string> keys;
  };

  void place(Node node);
  void take_key(const Node& node);
  void count_node(int line, int column);

  std::string file_;
  DocumentLimits limits_;
  std::vector<Level> levels_;
  std::vector<Diagnostic> faults_;
  std::optional<Node> root_;
  std::size_t nodes_ = 0;
};

}  // namespace cupel::text
