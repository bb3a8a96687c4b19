#include "worker/run/run_output.hpp"

namespace cupel::worker {

namespace {

MarkerFilter::Sink side_sink(HeadTail& kept, Stream stream, OutputSink sink) {
  return [&kept, stream, sink = std::move(sink)](std::string_view payload) {
    if (sink) sink(stream, kept.total(), payload);
    kept.feed(payload);
  };
}

}  // namespace

RunOutput::RunOutput(const std::string& nonce, std::uint64_t bytes_max, OutputSink sink)
    : out_{HeadTail(bytes_max), MarkerFilter(nonce, side_sink(out_.kept, Stream::out, sink))},
      err_{HeadTail(bytes_max), MarkerFilter(nonce, side_sink(err_.kept, Stream::err, sink))},
      frames_([this](Stream stream, std::string_view bytes) { feed_payload(stream, bytes); }) {}

void RunOutput::feed_payload(Stream stream, std::string_view bytes) {
  (stream == Stream::out ? out_ : err_).filter.feed(bytes);
}

void RunOutput::finish() {
  out_.filter.finish();
  err_.filter.finish();
}

std::optional<WrapperReport> RunOutput::report() const {
  return out_.filter.report() ? out_.filter.report() : err_.filter.report();
}

void RunOutput::fill_side(Side& side, std::uint64_t expected, Captured& captured) const {
  captured.truncated = side.kept.truncated();
  captured.complete = side.filter.report() && side.kept.total() == expected &&
                      !side.filter.bytes_after_end() && !frames_.malformed() &&
                      !frames_.mid_frame();
  captured.total = side.filter.report() ? expected : side.kept.total();
  captured.bytes = side.kept.take();
}

void RunOutput::fill(RunReport& report) {
  const std::optional<WrapperReport> end = this->report();
  report.started = started();
  report.end_marker = out_.filter.report() && err_.filter.report();
  fill_side(out_, end ? end->out_bytes : 0, report.out);
  fill_side(err_, end ? end->err_bytes : 0, report.err);
  if (!end) return;
  report.exit_code = end->exit_code;
  report.signal = end->signal;
  report.oom_kills = end->oom_kills > 0 ? static_cast<std::uint32_t>(end->oom_kills) : 0;
  report.pids_limit_hit = end->pids_refused > 0;
  report.pids_counted = end->pids_refused >= 0;
  report.tmp_full = end->tmp_full;
  report.leftover_processes = end->leftover;
}

}  // namespace cupel::worker
