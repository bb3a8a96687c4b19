// Networks: made, looked at and removed for the egress of runs.
#include "common/docker/client_impl.hpp"

namespace cupel::docker {

using detail::Answer;
using detail::Request;

namespace {

constexpr std::size_t kNetworkBytesMax = std::size_t{1} << 20U;
constexpr std::size_t kNetworkListBytesMax = std::size_t{8} << 20U;

}  // namespace

Awaitable<Result<void>> Client::network_create(engine::InternalNetwork network) {
  Request request{.what = "create network " + network.name,
                  .method = "POST",
                  .target = impl_->target("/networks/create"),
                  .body = engine::network_body(network)};
  request.budget = impl_->options.budgets.network;
  const std::string what = request.what;
  CallOf call(impl_, "network_create");
  const Result<Answer> answer = co_await Impl::short_call(impl_, std::move(request));
  if (!answer) co_return call.failed(answer.error());
  Result<void> status = engine::plain_status(answer->status, answer->body, what);
  if (!status && answer->status == 409) {
    Error there = status.error();
    there.code = Errc::already_exists;
    co_return call.failed(there);
  }
  co_return call.done(std::move(status));
}

Awaitable<Result<engine::NetworkFacts>> Client::network_inspect(std::string network) {
  if (!engine::is_container_ref(network)) co_return bad_container_ref(network);
  Request request{.what = "inspect network " + network,
                  .method = "GET",
                  .target = impl_->target("/networks/" + network),
                  .repeatable = true};
  request.budget = impl_->options.budgets.inspect;
  request.body_bytes_max = kNetworkBytesMax;
  const std::string what = request.what;
  CallOf call(impl_, "network_inspect");
  const Result<Answer> answer = co_await Impl::short_call(impl_, std::move(request));
  if (!answer) co_return call.failed(answer.error());
  const Result<void> status = engine::plain_status(answer->status, answer->body, what);
  if (!status) co_return call.failed(status.error());
  co_return call.done(engine::parse_network(answer->body));
}

Awaitable<Result<std::vector<engine::NetworkFacts>>> Client::network_list(
    std::vector<std::string> labels) {
  Request request{.what = "list networks",
                  .method = "GET",
                  .target = impl_->target("/networks?filters=" + label_filter(labels)),
                  .repeatable = true};
  request.budget = impl_->options.budgets.list;
  request.body_bytes_max = kNetworkListBytesMax;
  const std::string what = request.what;
  CallOf call(impl_, "network_list");
  const Result<Answer> answer = co_await Impl::short_call(impl_, std::move(request));
  if (!answer) co_return call.failed(answer.error());
  const Result<void> status = engine::plain_status(answer->status, answer->body, what);
  if (!status) co_return call.failed(status.error());
  co_return call.done(engine::parse_networks(answer->body));
}

Awaitable<Result<void>> Client::network_remove(std::string network) {
  if (!engine::is_container_ref(network)) co_return bad_container_ref(network);
  Request request{.what = "remove network " + network,
                  .method = "DELETE",
                  .target = impl_->target("/networks/" + network),
                  .repeatable = true};
  request.budget = impl_->options.budgets.network;
  const std::string what = request.what;
  CallOf call(impl_, "network_remove");
  const Result<Answer> answer = co_await Impl::short_call(impl_, std::move(request));
  if (!answer) co_return call.failed(answer.error());
  if (answer->status == 404) co_return call.done(Result<void>());
  co_return call.done(engine::plain_status(answer->status, answer->body, what));
}

}  // namespace cupel::docker
