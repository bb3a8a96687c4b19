/// What a run writes: frames of an engine or the plain bytes, the wrapper's markers, caps.
#pragma once

#include "common/engine/log_frames.hpp"
#include "worker/core/engine/head_tail.hpp"
#include "worker/core/engine/wrapper_protocol.hpp"
#include "worker/ports/run_port.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cupel::worker {

/// Both output streams of a run: frames, markers, caps.
class RunOutput {
 public:
  RunOutput(const std::string& nonce, std::uint64_t bytes_max, OutputSink sink);
  RunOutput(const RunOutput&) = delete;
  RunOutput& operator=(const RunOutput&) = delete;

  void feed_frames(std::string_view bytes) { frames_.feed(bytes); }
  void feed_payload(Stream stream, std::string_view bytes);
  void finish();
  [[nodiscard]] bool started() const { return out_.filter.started() && err_.filter.started(); }
  /// Bytes that no wrapper writes: the stream can't be believed.
  [[nodiscard]] bool broken() const { return frames_.malformed(); }
  /// Of either stream; both carry the same trailer.
  [[nodiscard]] std::optional<WrapperReport> report() const;
  /// Moves what was kept into the report, judged against the wrapper's counts.
  void fill(RunReport& report);

 private:
  struct Side {
    HeadTail kept;
    MarkerFilter filter;
  };
  void fill_side(Side& side, std::uint64_t expected, Captured& captured) const;

  Side out_;
  Side err_;
  engine::LogFrames frames_;
};

}  // namespace cupel::worker
