/// Reader of `go vet -json` (and of plain `go vet`).
#pragma once

#include "worker/core/go/build_text.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker::go {

struct VetFinding {
  std::string package;   ///< Canonical; empty where plain text doesn't say it.
  std::string analyzer;  ///< Empty where plain text doesn't say it.
  std::string file;      ///< As written.
  int line = 0;
  int column = 0;
  std::string message;
};

struct VetOutput {
  std::vector<VetFinding> findings;  ///< At most 10,000, each once.
  BuildText text;                    ///< What came as text: type errors, load errors.
  bool complete = true;              ///< False when a JSON object was broken off or malformed.
};

/// Both streams: the JSON objects come on stdout, from older Go on stderr between "# package"
/// lines. A package and its test variant report the same finding twice; it is kept once. `json`
/// says how vet was asked: only without it a line with a position and no header is a finding, else
/// it is a load error.
[[nodiscard]] VetOutput read_vet_output(std::string_view out, std::string_view err, bool json);

}  // namespace cupel::worker::go
