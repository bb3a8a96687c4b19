#include "worker/app/egress_setup.hpp"

#include "common/fs/files.hpp"

#include <utility>

namespace cupel::worker {

namespace {

egress::Choice choice_of(const Options& options) {
  if (options.egress == "enforced") return egress::Choice::enforced;
  return options.egress == "configured" ? egress::Choice::configured : egress::Choice::as_can_be;
}

egress::Place place_of(const Options& options) {
  if (options.egress_proxy == "worker") return egress::Place::worker;
  return options.egress_proxy == "container" ? egress::Place::container : egress::Place::as_fits;
}

}  // namespace

Result<std::unique_ptr<egress::Gate>> make_gate(boost::asio::any_io_executor executor,
                                                docker::Client& engine, const Options& options,
                                                const GoEnvironment& go,
                                                const ProfileContext& context,
                                                WorkerMetrics& metrics) {
  egress::ModuleSettings settings{
      .goproxy = go.proxy, .gosumdb = go.sumdb, .by_operator = go.by_operator};
  if (!options.netrc_file.empty()) {
    auto netrc = fs::read_secret(options.netrc_file, kNetrcBytesMax);
    if (!netrc) return netrc.error();
    settings.netrc = *std::move(netrc);
  }
  auto sources = egress::module_sources(settings);
  if (!sources) return sources.error();
  auto upstream = egress::upstream_proxy(go.proxy_environment);
  if (!upstream) return upstream.error();
  egress::GateOptions gate{.worker = context.worker,
                           .choice = choice_of(options),
                           .place = place_of(options),
                           .context = context,
                           .after_run = options.post_run,
                           .sources = *std::move(sources),
                           .run_bytes_max = options.modcache_bytes_max};
  egress::ProxyOptions proxy{.upstream = *std::move(upstream), .ca_file = options.ca_bundle};
  proxy.on_refused = [&metrics](egress::Refused why) { metrics.egress_refused(why); };
  proxy.on_bytes = [&metrics](std::uint64_t bytes) { metrics.egress_bytes(bytes); };
  return std::make_unique<egress::Gate>(std::move(executor), engine, std::move(gate),
                                        std::move(proxy));
}

}  // namespace cupel::worker
