#include "common/async/task_group.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <map>
#include <utility>

namespace cupel::async {
namespace {

namespace asio = boost::asio;

bool is_cancellation(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const boost::system::system_error& error) {
    return error.code() == asio::error::operation_aborted;
  } catch (...) {
    return false;
  }
}

}  // namespace

struct TaskGroup::State {
  State(asio::any_io_executor on, OnException handler)
      : executor(std::move(on)),
        on_exception(std::move(handler)),
        empty(executor, asio::steady_timer::time_point::max()) {}

  void ended(std::uint64_t id, const std::exception_ptr& exception) {
    signals.erase(id);
    if (exception && on_exception && !(cancelled && is_cancellation(exception))) {
      on_exception(exception);
    }
    if (signals.empty()) empty.cancel();
  }

  void cancel() {
    if (std::exchange(cancelled, true)) return;
    // Not from inside this call: a coroutine may cancel the group it runs in, and a signal must not
    // end the coroutine that emits it.
    for (auto& [id, signal] : signals) {
      asio::post(executor, [held = signal] { held->emit(asio::cancellation_type::terminal); });
    }
  }

  asio::any_io_executor executor;
  OnException on_exception;
  std::map<std::uint64_t, std::shared_ptr<asio::cancellation_signal>> signals;
  std::uint64_t next_id = 0;
  bool cancelled = false;
  asio::steady_timer empty;
};

TaskGroup::TaskGroup(asio::any_io_executor executor, OnException on_exception)
    : state_(std::make_shared<State>(std::move(executor), std::move(on_exception))) {}

TaskGroup::~TaskGroup() {
  state_->cancel();
}

bool TaskGroup::spawn(asio::awaitable<void> task) {
  if (state_->cancelled) return false;
  const std::uint64_t id = state_->next_id++;
  auto signal = std::make_shared<asio::cancellation_signal>();
  const auto slot = signal->slot();
  state_->signals.emplace(id, signal);
  asio::co_spawn(state_->executor, std::move(task),
                 asio::bind_cancellation_slot(
                     slot, [state = state_, signal, id](const std::exception_ptr& exception) {
                       state->ended(id, exception);
                     }));
  return true;
}

void TaskGroup::cancel() {
  state_->cancel();
}

asio::awaitable<void> TaskGroup::join() {
  const auto state = state_;
  while (!state->signals.empty()) {
    boost::system::error_code woken;
    co_await state->empty.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    // Woken by the last coroutine, or by a cancellation of the waiting one.
    const auto cancellation = co_await asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != asio::cancellation_type::none) co_return;
  }
}

std::size_t TaskGroup::size() const {
  return state_->signals.size();
}

}  // namespace cupel::async
