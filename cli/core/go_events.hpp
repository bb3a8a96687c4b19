/// The text that a program printed, out of the events of `go test -json`. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace cupel::cli {

/// Takes a log in pieces of any size. A line that is an event ({"Action": ...}) becomes its
/// "Output", every other line stays as it is. Lines over 1 MiB are passed on untouched.
class GoEventText {
 public:
  using Out = std::function<void(std::string_view text)>;
  explicit GoEventText(Out out) : out_(std::move(out)) {}
  void push(std::string_view bytes);
  /// The last line, where it has no line break.
  void finish();

 private:
  void line(std::string_view text);
  Out out_;
  std::string pending_;
  bool passing_ = false;  ///< Inside of a line that is too long to be looked at.
};

}  // namespace cupel::cli
