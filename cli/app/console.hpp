/// Standard output and error: results on the one, everything else on the other; colours and
/// progress only where a person looks.
#pragma once

#include "cli/app/request.hpp"
#include "common/core/error.hpp"
#include "common/text/diagnostic.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cupel::cli {

class Console {
 public:
  explicit Console(const Globals& globals);

  /// Results.
  void out(std::string_view text) const;
  /// Messages for people; nothing with --quiet.
  void say(std::string_view line);
  /// Errors, always; "cupel: ..." with code and hint.
  void error(const Error& error);
  void diagnostics(const std::vector<text::Diagnostic>& diagnostics);

  /// Redraws the status block (only where progress_block()).
  void draw(const std::vector<std::string>& lines);
  /// Removes the status block, so that ordinary lines can follow.
  void clear();

  [[nodiscard]] bool color() const { return color_out_; }
  [[nodiscard]] bool progress_block() const { return progress_block_; }
  [[nodiscard]] bool progress_lines() const { return progress_lines_; }
  /// 0 where standard output is no terminal.
  [[nodiscard]] std::size_t out_columns() const { return out_columns_; }
  [[nodiscard]] std::size_t err_columns() const { return err_columns_; }
  /// One JSON document, or a stream of lines, instead of text.
  [[nodiscard]] bool json() const { return json_; }
  [[nodiscard]] bool ndjson() const { return ndjson_; }

 private:
  bool quiet_ = false;
  bool json_ = false;
  bool ndjson_ = false;
  bool color_out_ = false;
  bool progress_block_ = false;
  bool progress_lines_ = false;
  std::size_t out_columns_ = 0;
  std::size_t err_columns_ = 80;
  std::size_t drawn_ = 0;
};

}  // namespace cupel::cli
