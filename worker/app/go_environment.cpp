#include "worker/app/go_environment.hpp"

#include "common/images/recipe.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace cupel::worker {
namespace {

std::string environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? std::string() : std::string(value);
}

struct PipeCloser {
  void operator()(std::FILE* pipe) const { ::pclose(pipe); }
};

// A fixed command line without a word of anybody's: the shell has nothing to interpret.
std::string go_env(const char* fixed_command) {
  const std::unique_ptr<std::FILE, PipeCloser> pipe(::popen(fixed_command, "re"));
  if (!pipe) return {};
  std::array<char, 4096> line{};
  if (std::fgets(line.data(), static_cast<int>(line.size()), pipe.get()) == nullptr) return {};
  std::string text = line.data();
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

std::string first_of(const std::string& configured, const char* variable,
                     const char* fixed_command) {
  if (!configured.empty()) return configured;
  if (auto value = environment(variable); !value.empty()) return value;
  return go_env(fixed_command);
}

}  // namespace

Result<GoEnvironment> go_environment(const Options& options) {
  GoEnvironment result;
  result.proxy = images::proxies_only(
      first_of(options.module_proxy, "GOPROXY", "GOTOOLCHAIN=local go env GOPROXY 2>/dev/null"));
  result.sumdb = first_of(options.checksum_database, "GOSUMDB",
                          "GOTOOLCHAIN=local go env GOSUMDB 2>/dev/null");
  result.by_operator = !options.module_proxy.empty() || !environment("GOPROXY").empty();
  // Acquire and mutate use the fixture proxy then; only tools are still built from the real one.
  const bool optional = !options.fixture_proxy.empty();
  if (optional && (result.proxy.empty() || result.sumdb.empty() || result.sumdb == "off")) {
    return GoEnvironment{};
  }
  if (result.proxy.empty()) {
    return Error{
        Errc::bad_config,
        "no module proxy is known",
        {},
        "set module_proxy, or GOPROXY in the worker's environment, or install the go command"};
  }
  if (result.sumdb.empty() || result.sumdb == "off") {
    return Error{
        Errc::bad_config,
        "no checksum database is known",
        {},
        "set checksum_database; 'off' is not accepted, since nothing else proves a module cache"};
  }
  for (const char* variable :
       {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"}) {
    if (auto value = environment(variable); !value.empty())
      result.proxy_environment[variable] = value;
  }
  return result;
}

}  // namespace cupel::worker
