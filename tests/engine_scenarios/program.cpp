// What a container writes, as our wrapper would: markers around the command's output, counts in the
// trailer.
#include "common/async/no_throw.hpp"
#include "tests/engine_scenarios/model.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace cupel::scenarios {

namespace {

namespace asio = boost::asio;

std::string trailer(const Container& container, const Ending& ending) {
  return "\x1e"
         "cupel-end " +
         ending.nonce.value_or(container.nonce) + " end=" + ending.end +
         " exit=" + std::to_string(ending.exit_code) + " signal=" + std::to_string(ending.signal) +
         " out=" + std::to_string(ending.out_bytes.value_or(container.out_bytes)) +
         " err=" + std::to_string(ending.err_bytes.value_or(container.err_bytes)) +
         " oom=" + std::to_string(ending.oom) + " pids=" + std::to_string(ending.pids) +
         " tmp=" + (ending.tmp_full ? "1" : "0") + " left=" + (ending.left ? "1" : "0") +
         " what=" + ending.what + "\n";
}

void write(Container& container, std::string frame) {
  container.frames.push_back(std::move(frame));
  container.notify();
}

void finish(Container& container, const Ending& ending) {
  if (!container.runs()) return;
  if (ending.trailer) {
    const std::string line = trailer(container, ending);
    write(container, Model::frame(1, line));
    write(container, Model::frame(2, line));
  }
  container.state = "exited";
  container.exit_code = ending.engine_code.value_or(ending.exit_code);
  container.oom_killed = ending.oom_killed;
  container.finished = std::chrono::system_clock::now();
  container.notify();
}

/// True when the wrapper was told to end and does.
bool told_to_end(const Container& container) {
  return !container.order.empty() && container.program->obeys_orders;
}

asio::awaitable<void> nap(ContainerPtr container, Duration time) {
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::ceil<std::chrono::steady_clock::duration>(time);
  while (container->runs() && !told_to_end(*container) &&
         std::chrono::steady_clock::now() < until) {
    container->nap.expires_at(until);
    (void)co_await container->nap.async_wait(kNoThrow);
  }
}

/// False when the program is over.
asio::awaitable<bool> play_steps(ContainerPtr container, const std::vector<ProgramStep>* steps) {
  for (const ProgramStep& step : *steps) {
    if (!container->runs() || told_to_end(*container)) co_return false;
    switch (step.kind) {
      case ProgramStep::Kind::frame: {
        const std::string bytes = Model::expand(step.bytes, container);
        if (!step.uncounted && step.stream == 1) container->out_bytes += bytes.size();
        if (!step.uncounted && step.stream == 2) container->err_bytes += bytes.size();
        write(*container, Model::frame(step.stream, bytes, step.length));
        break;
      }
      case ProgramStep::Kind::raw: write(*container, Model::expand(step.bytes, container)); break;
      case ProgramStep::Kind::pause: co_await nap(container, step.time); break;
      case ProgramStep::Kind::repeat:
        for (std::uint64_t i = 0; i < step.times; ++i) {
          if (!co_await play_steps(container, &step.body)) co_return false;
        }
        break;
      case ProgramStep::Kind::exit: finish(*container, step.ending); co_return false;
      case ProgramStep::Kind::hang: co_await nap(container, std::chrono::hours(1)); break;
    }
  }
  co_return true;
}

}  // namespace

asio::awaitable<void> Container::until_changed() {
  (void)co_await changed.async_wait(kNoThrow);
}

void Container::take_stdin(std::string_view bytes) {
  if (bytes.empty()) {
    if (order.empty()) order = "eof";
  } else {
    orders += bytes;
    const std::size_t begin = orders.find("\nnonce ");
    const std::size_t run = orders.find("\nrun\n");
    if (nonce.empty() && begin != std::string::npos && run != std::string::npos) {
      nonce = orders.substr(begin + 7, orders.find('\n', begin + 1) - begin - 7);
      orders.erase(0, run + 5);
    }
    if (!nonce.empty() && order.empty() &&
        (orders.starts_with("kill\n") || orders.starts_with("end\n"))) {
      order = "order";
    }
  }
  nap.cancel();
  notify();
}

asio::awaitable<void> play(ContainerPtr container) {
  while (container->runs() && container->nonce.empty() && !told_to_end(*container)) {
    co_await container->until_changed();
  }
  if (!container->runs()) co_return;
  if (!container->nonce.empty() && container->program->start_marker) {
    const std::string line =
        "\x1e"
        "cupel-start " +
        container->nonce + "\n";
    write(*container, Model::frame(1, line));
    write(*container, Model::frame(2, line));
  }
  const bool through = co_await play_steps(container, &container->program->steps);
  if (!container->runs()) co_return;
  Ending ending;
  if (told_to_end(*container)) {
    ending.end = container->order;
    ending.exit_code = kKilledCode;
    ending.signal = 9;
  } else if (!through) {
    co_return;
  }
  finish(*container, ending);
}

}  // namespace cupel::scenarios
