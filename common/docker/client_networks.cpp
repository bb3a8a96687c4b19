// Networks: made, looked at and removed for the egress of runs.
#include "common/crash/crash_point.hpp"
#include "common/docker/client_impl.hpp"

namespace cupel::docker {

using detail::Answer;
using detail::Request;

namespace {

constexpr std::size_t kNetworkBytesMax = std::size_t{1} << 20U;
constexpr std::size_t kNetworkListBytesMax = std::size_t{8} << 20U;

}  // namespace

Awaitable<Result<void>> Client::network_create(engine::InternalNetwork network) {
  const std::string what = "create network " + network.name;
  Request request{.what = what,
                  .method = "POST",
                  .target = impl_->target("/networks/create"),
                  .body = engine::network_body(network)};
  request.budget = impl_->options.budgets.network;
  CUPEL_CRASH_POINT("engine.network_create");
  co_return co_await Impl::exchange(
      impl_, "network_create", std::move(request), [what](const Answer& answer) -> Result<void> {
        Result<void> status = engine::plain_status(answer.status, answer.body, what);
        if (status || answer.status != 409) return status;
        Error there = status.error();
        there.code = Errc::already_exists;
        return there;
      });
}

Awaitable<Result<engine::NetworkFacts>> Client::network_inspect(std::string network) {
  if (!engine::is_container_ref(network)) co_return bad_container_ref(network);
  const std::string what = "inspect network " + network;
  Request request{.what = what,
                  .method = "GET",
                  .target = impl_->target("/networks/" + network),
                  .repeatable = true};
  request.budget = impl_->options.budgets.inspect;
  request.body_bytes_max = kNetworkBytesMax;
  CUPEL_CRASH_POINT("engine.network_inspect");
  co_return co_await Impl::exchange(
      impl_, "network_inspect", std::move(request), [what](const Answer& answer) {
        return parsed_body(answer, engine::plain_status(answer.status, answer.body, what),
                           engine::parse_network);
      });
}

Awaitable<Result<std::vector<engine::NetworkFacts>>> Client::network_list(
    std::vector<std::string> labels) {
  const std::string what = "list networks";
  Request request{.what = what,
                  .method = "GET",
                  .target = impl_->target("/networks?filters=" + label_filter(labels)),
                  .repeatable = true};
  request.budget = impl_->options.budgets.list;
  request.body_bytes_max = kNetworkListBytesMax;
  CUPEL_CRASH_POINT("engine.network_list");
  co_return co_await Impl::exchange(
      impl_, "network_list", std::move(request), [what](const Answer& answer) {
        return parsed_body(answer, engine::plain_status(answer.status, answer.body, what),
                           engine::parse_networks);
      });
}

Awaitable<Result<void>> Client::network_remove(std::string network) {
  if (!engine::is_container_ref(network)) co_return bad_container_ref(network);
  const std::string what = "remove network " + network;
  Request request{.what = what,
                  .method = "DELETE",
                  .target = impl_->target("/networks/" + network),
                  .repeatable = true};
  request.budget = impl_->options.budgets.network;
  CUPEL_CRASH_POINT("engine.network_remove");
  co_return co_await Impl::exchange(
      impl_, "network_remove", std::move(request),
      [what](const Answer& answer) { return removal_of(answer, what); });
}

}  // namespace cupel::docker
