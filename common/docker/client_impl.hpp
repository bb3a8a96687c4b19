/// What the client's source files share.
#pragma once

#include "common/async/semaphore.hpp"
#include "common/docker/client.hpp"
#include "common/docker/connection.hpp"

#include <chrono>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

namespace cupel::docker {

/// Tells the observer how a call ended, exactly once.
template <typename Impl>
class CallOf {
 public:
  CallOf(std::shared_ptr<Impl> impl, std::string_view call) : impl_(std::move(impl)), call_(call) {}

  [[nodiscard]] Error failed(const Error& error) {
    impl_->observe(call_, started_, error);
    return error;
  }
  void succeeded() { impl_->observe(call_, started_, std::nullopt); }
  template <typename T>
  [[nodiscard]] Result<T> done(Result<T> result) {
    impl_->observe(call_, started_, result ? std::nullopt : std::optional<Error>(result.error()));
    return result;
  }

 private:
  std::shared_ptr<Impl> impl_;
  std::string_view call_;
  TimePoint started_ = std::chrono::steady_clock::now();
};

template <typename Impl>
CallOf(std::shared_ptr<Impl>, std::string_view) -> CallOf<Impl>;

struct Client::Impl {
  boost::asio::any_io_executor executor;
  ClientOptions options;
  engine::ApiVersion api = engine::kApiMin;
  async::AsyncSemaphore calls;

  Impl(boost::asio::any_io_executor where, ClientOptions wanted)
      : executor(std::move(where)),
        options(std::move(wanted)),
        calls(executor, options.calls_max) {}

  [[nodiscard]] std::string target(std::string_view path) const;
  void observe(std::string_view call, TimePoint started, const std::optional<Error>& error) const;
  /// An exchange that counts against calls_max; the time in the queue is part of its budget.
  [[nodiscard]] static Awaitable<Result<detail::Answer>> short_call(std::shared_ptr<Impl> self,
                                                                    detail::Request request);
  /// The same, observed under the name `call`. `judge` makes a Result of the answer.
  template <typename Judge>
  [[nodiscard]] static Awaitable<std::invoke_result_t<Judge&, const detail::Answer&>> exchange(
      std::shared_ptr<Impl> self, std::string_view call, detail::Request request, Judge judge) {
    CallOf observed(self, call);
    const Result<detail::Answer> answer = co_await short_call(self, std::move(request));
    if (!answer) co_return observed.failed(answer.error());
    co_return observed.done(judge(*answer));
  }
};

/// A removal: what isn't there is removed.
[[nodiscard]] inline Result<void> removal_of(const detail::Answer& answer,
                                             const std::string& what) {
  if (answer.status == 404) return {};
  return engine::plain_status(answer.status, answer.body, what);
}

/// What `parse` reads from the body of an answer with a good status.
template <typename Parse>
[[nodiscard]] auto parsed_body(const detail::Answer& answer, const Result<void>& status,
                               Parse parse) -> decltype(parse(answer.body)) {
  if (!status) return status.error();
  return parse(answer.body);
}

/// {"label":[...]} as a query value.
[[nodiscard]] std::string label_filter(const std::vector<std::string>& labels);

/// For messages.
[[nodiscard]] inline std::string short_ref(const std::string& container) {
  return container.substr(0, 12);
}
[[nodiscard]] inline Error bad_container_ref(const std::string& container) {
  return {.code = Errc::bug,
          .what = "'" + container + "' can't be a container",
          .detail = {},
          .hint = {}};
}

}  // namespace cupel::docker
