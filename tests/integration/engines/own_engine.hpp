/// A container engine of this process's own, started by the script beside this file.
#pragma once

#include "common/core/error.hpp"
#include "common/fs/beneath.hpp"

#include <string>
#include <sys/types.h>
#include <utility>

namespace cupel::test {

class OwnEngine {
 public:
  /// `kind` and `runtime` as the script takes them. Returns when the engine answers.
  /// Errors: process_failed with the script's words, where a program is missing or it doesn't
  /// start.
  [[nodiscard]] static Result<OwnEngine> start(const std::string& kind,
                                               const std::string& runtime = {});
  OwnEngine(OwnEngine&& other) noexcept
      : script_(std::exchange(other.script_, -1)),
        lifeline_(std::move(other.lifeline_)),
        socket_(std::move(other.socket_)) {}
  OwnEngine& operator=(OwnEngine&&) = delete;
  /// Ends it, and waits until nothing of it is left.
  ~OwnEngine();

  [[nodiscard]] const std::string& socket() const { return socket_; }

 private:
  OwnEngine(pid_t script, fs::Fd lifeline, std::string socket)
      : script_(script), lifeline_(std::move(lifeline)), socket_(std::move(socket)) {}

  pid_t script_ = -1;
  fs::Fd lifeline_;  ///< Its closing, by whatever cause, ends the engine.
  std::string socket_;
};

}  // namespace cupel::test
