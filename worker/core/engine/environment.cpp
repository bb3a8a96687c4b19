// What a container's processes find in their environment: only what the profile sets.
#include "worker/core/engine/confinement.hpp"

#include <algorithm>

namespace cupel::worker {

namespace {

using Environment = std::map<std::string, std::string>;

constexpr std::string_view kPath =
    "/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::uint64_t kBytesPerMiB = 1ULL << 20U;

/// Proxies only: "direct" would let the go command run a version control system, "off" would make
/// every answer look like a missing module.
Result<void> check_goproxy(const std::string& goproxy) {
  std::size_t begin = 0;
  while (begin <= goproxy.size()) {
    const std::size_t end = std::min(goproxy.find_first_of(",|", begin), goproxy.size());
    const std::string entry = goproxy.substr(begin, end - begin);
    if (!entry.starts_with("https://") && !entry.starts_with("http://")) {
      return refused_by_policy("GOPROXY entry '" + entry + "' is no proxy");
    }
    begin = end + 1;
  }
  return {};
}

/// The proxy of the egress network, in both spellings; nothing goes past it.
void add_enforced_proxy(Environment& environment, const RunEgress& egress) {
  for (const char* const name : {"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"}) {
    environment[name] = egress.proxy_url;
  }
  environment["NO_PROXY"] = "";
  environment["no_proxy"] = "";
}

/// The worker's own copies come first; what isn't there leads on to the proxies. Only sums that the
/// checksum database proves may come from there: a campaign with private modules could mean another
/// module by the same name.
Result<std::string> with_downloads(const std::string& goproxy, const RunRequest& request) {
  if (request.mounts.downloads.empty()) return goproxy;
  if (!request.go.go_private.empty() || !request.go.go_nosumdb.empty()) {
    return refused_by_policy("a run with private modules has no download cache");
  }
  return "file://" + std::string(kDownloadsPath) + "," + goproxy;
}

Result<void> add_network(Environment& environment, const RunRequest& request,
                         const ProfileContext& context, const RunEgress& egress) {
  const bool fixture = !request.mounts.fixture_proxy.empty();
  if (fixture && !request.mounts.downloads.empty()) {
    return refused_by_policy("a run with a fixture proxy has no download cache");
  }
  if (fixture && request.profile != Profile::tool) {
    environment["GOPROXY"] = "file:///proxy";
    environment["GOSUMDB"] = "off";
    return {};
  }
  if (const Result<void> proxies = check_goproxy(context.goproxy); !proxies) return proxies.error();
  if (context.gosumdb.empty() || context.gosumdb == "off") {
    return refused_by_policy(
        "GOSUMDB is off, and only a fixture proxy may do without a checksum database");
  }
  const auto goproxy = with_downloads(context.goproxy, request);
  if (!goproxy) return goproxy.error();
  environment["GOPROXY"] = *goproxy;
  environment["GOSUMDB"] = context.gosumdb;
  if (!context.ca_bundle.empty()) environment["SSL_CERT_FILE"] = kCaBundlePath;
  if (egress.enforced) {
    if (const Result<void> proxies = check_goproxy(egress.goproxy); !proxies)
      return proxies.error();
    const auto enforced = with_downloads(egress.goproxy, request);
    if (!enforced) return enforced.error();
    environment["GOPROXY"] = *enforced;
    add_enforced_proxy(environment, egress);
    return {};
  }
  static constexpr std::string_view kProxyNames[] = {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
                                                     "http_proxy", "https_proxy", "no_proxy"};
  for (const auto& [name, value] : context.proxy_environment) {
    if (std::ranges::find(kProxyNames, name) == std::end(kProxyNames)) {
      return refused_by_policy("'" + name + "' is no proxy variable");
    }
    environment[name] = value;
  }
  return {};
}

std::string execute_flags(const GoMode& go) {
  std::string plain = "-buildvcs=false";
  if (go.vendored) return "-mod=vendor " + plain;
  // A workspace refuses every other -mod.
  if (!go.workspace.empty()) return plain;
  return "-mod=readonly " + plain;
}

std::string go_work(const RunRequest& request) {
  if (request.go.workspace.empty()) return "off";
  // The rewritten copy exists only where staging does.
  const bool staged = request.go.workspace_staged && !request.mounts.staging.empty();
  return staged ? "/staging/go.work" : "/src/" + request.go.workspace;
}

void add_private_patterns(Environment& environment, const GoMode& go) {
  environment["GOPRIVATE"] = go.go_private;
  environment["GONOSUMDB"] = go.go_nosumdb;
  environment["GOINSECURE"] = "";
  // Private modules come through the configured proxy too: nothing is fetched directly.
  environment["GONOPROXY"] = go.go_private.empty() ? "" : "none";
  if (!go.go_private.empty() && go.go_nosumdb.empty()) environment["GONOSUMDB"] = go.go_private;
}

}  // namespace

Result<Environment> profile_environment(const RunRequest& request, const ProfileContext& context,
                                        const ImageTraits& image, const RunEgress& egress) {
  const std::uint64_t cpus = std::max<std::uint64_t>(1, (request.limits.cpu_millis + 999) / 1000);
  Environment environment = {
      {"PATH", std::string(kPath)},
      {"HOME", "/tmp"},
      {"TMPDIR", "/tmp"},
      {"GOTMPDIR", "/tmp"},
      {"USER", "nobody"},  // user.Current() of a program without cgo asks for it
      {"GOPATH", "/tmp/gopath"},
      {"GOCACHE", "/gocache"},
      {"GOMODCACHE", request.mounts.modcache.empty() ? "/tmp/modcache" : "/modcache"},
      {"GOTOOLCHAIN", "local"},
      {"GOENV", "off"},
      {"GOVCS", "*:off"},
      {"GOAUTH", "off"},
      {"GIT_TERMINAL_PROMPT", "0"},
      {"GOWORK", go_work(request)},
      {"GOMAXPROCS", std::to_string(cpus)},
      // The collector works harder before the kernel's limit strikes; a quarter is left for /tmp
      // and for what is no Go heap.
      {"GOMEMLIMIT", std::to_string(request.limits.memory_bytes / 4 * 3 / kBytesPerMiB) + "MiB"},
      {"CGO_ENABLED", request.profile == Profile::execute && image.c_compiler ? "1" : "0"},
  };
  add_private_patterns(environment, request.go);
  switch (request.profile) {
    case Profile::execute:
      environment["GOFLAGS"] = execute_flags(request.go);
      environment["GOPROXY"] = "off";
      environment["GOSUMDB"] = "off";
      return environment;
    case Profile::acquire:
    case Profile::mutate:
      environment["GOFLAGS"] = request.go.workspace.empty() ? "-mod=mod" : "";
      break;
    case Profile::tool:
      environment["GOFLAGS"] = "";
      environment["GOBIN"] = "/tools";
      break;
  }
  if (const Result<void> network = add_network(environment, request, context, egress); !network) {
    return network.error();
  }
  if (sees_credentials(request, context, egress)) {
    environment["GOAUTH"] = "netrc";
    environment["NETRC"] = kNetrcPath;
  }
  return environment;
}

}  // namespace cupel::worker
