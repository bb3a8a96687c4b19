// What a command of the workspace scope finds in its environment, and where its tools cache.
#include "common/sandbox/workspace.hpp"

#include <algorithm>
#include <array>

namespace cupel::sandbox {

namespace {

using Environment = std::map<std::string, std::string>;

/// A variable that sends a tool's files into a directory of ours.
struct Redirect {
  std::string_view variable;
  std::string_view folder;  ///< Below the project's cache directory.
};

// Each tool's own documentation names the variable. Not one points at a folder that may hold
// credentials of the user.
constexpr std::array kRedirects = {
    Redirect{"TMPDIR", "tmp"},
    Redirect{"TMP", "tmp"},
    Redirect{"TEMP", "tmp"},
    Redirect{"XDG_CACHE_HOME", "xdg"},
    Redirect{"GOCACHE", "go-build"},
    Redirect{"GOTMPDIR", "tmp"},
    Redirect{"GOPATH", "gopath"},
    Redirect{"GOMODCACHE", "gomod"},
    Redirect{"GOLANGCI_LINT_CACHE", "golangci-lint"},
    Redirect{"npm_config_cache", "npm"},
    Redirect{"npm_config_devdir", "node-gyp"},
    Redirect{"npm_config_store_dir", "pnpm"},
    Redirect{"YARN_CACHE_FOLDER", "yarn"},
    Redirect{"BUN_INSTALL_CACHE_DIR", "bun"},
    Redirect{"COREPACK_HOME", "corepack"},
    Redirect{"DENO_DIR", "deno"},
    Redirect{"PIP_CACHE_DIR", "pip"},
    Redirect{"UV_CACHE_DIR", "uv"},
    Redirect{"POETRY_CACHE_DIR", "poetry"},
    Redirect{"PYTHONPYCACHEPREFIX", "pycache"},
    Redirect{"MYPY_CACHE_DIR", "mypy"},
    Redirect{"RUFF_CACHE_DIR", "ruff"},
    Redirect{"CARGO_HOME", "cargo"},
    Redirect{"SCCACHE_DIR", "sccache"},
    Redirect{"CCACHE_DIR", "ccache"},
    Redirect{"GRADLE_USER_HOME", "gradle"},
    Redirect{"NUGET_PACKAGES", "nuget"},
    Redirect{"DOTNET_CLI_HOME", "dotnet"},
    Redirect{"COMPOSER_CACHE_DIR", "composer"},
    Redirect{"BUNDLE_USER_HOME", "bundle"},
};

/// Names that say nothing secret and that tools need, when the caller has them.
constexpr std::array<std::string_view, 38> kPassed = {"PATH",
                                                      "LANG",
                                                      "LANGUAGE",
                                                      "TERM",
                                                      "COLORTERM",
                                                      "TZ",
                                                      "USER",
                                                      "LOGNAME",
                                                      "SHELL",
                                                      "NO_COLOR",
                                                      "FORCE_COLOR",
                                                      "CI",
                                                      "EDITOR",
                                                      "PAGER",
                                                      "COLUMNS",
                                                      "LINES",
                                                      "GOOS",
                                                      "GOARCH",
                                                      "GOFLAGS",
                                                      "GOTOOLCHAIN",
                                                      "CGO_ENABLED",
                                                      "GOPRIVATE",
                                                      "GONOSUMDB",
                                                      "GONOPROXY",
                                                      "GOSUMDB",
                                                      "GOEXPERIMENT",
                                                      "GOROOT",
                                                      "GOMAXPROCS",
                                                      "CC",
                                                      "CXX",
                                                      "PKG_CONFIG",
                                                      "JAVA_HOME",
                                                      "NODE_ENV",
                                                      "VIRTUAL_ENV",
                                                      "PIP_DEFAULT_TIMEOUT",
                                                      "PIP_NO_INDEX",
                                                      "SOURCE_DATE_EPOCH",
                                                      "MAKEFLAGS"};

/// Names whose value may be an address with a password: passed only when it has none.
constexpr std::array<std::string_view, 14> kAddresses = {
    "GOPROXY",        "HTTP_PROXY",
    "HTTPS_PROXY",    "NO_PROXY",
    "ALL_PROXY",      "http_proxy",
    "https_proxy",    "no_proxy",
    "all_proxy",      "npm_config_registry",
    "PIP_INDEX_URL",  "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS", "CARGO_REGISTRIES_CRATES_IO_INDEX"};

bool is_variable(std::string_view name) {
  if (name.empty() || (name.front() >= '0' && name.front() <= '9')) return false;
  return std::ranges::all_of(name, [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  });
}

void pass(Environment& out, const Environment& host, std::string_view name) {
  const auto found = host.find(std::string(name));
  if (found != host.end()) out.insert(*found);
}

/// "scheme://user:password@host": somebody's credentials.
bool has_credentials(std::string_view value) {
  for (std::size_t at = value.find("://"); at != std::string_view::npos;
       at = value.find("://", at + 3)) {
    const std::string_view rest = value.substr(at + 3);
    if (rest.substr(0, rest.find_first_of("/ ,|")).find('@') != std::string_view::npos) return true;
  }
  return false;
}

void pass_addresses(Environment& out, const Environment& host, std::vector<std::string>& notes) {
  for (const std::string_view name : kAddresses) {
    const auto found = host.find(std::string(name));
    if (found == host.end()) continue;
    if (has_credentials(found->second)) {
      notes.push_back(found->first + " holds credentials and was left out; --env " + found->first +
                      " passes it");
    } else {
      out.insert(*found);
    }
  }
}

}  // namespace

const std::vector<std::string>& ca_variables() {
  static const std::vector<std::string> kNames = {
      "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE",   "REQUESTS_CA_BUNDLE",
      "PIP_CERT",      "GIT_SSL_CAINFO",      "CARGO_HTTP_CAINFO"};
  return kNames;
}

std::vector<std::string> cache_directories(const std::string& cache_dir) {
  std::vector<std::string> all;
  for (const Redirect& redirect : kRedirects) {
    std::string directory = cache_dir + "/" + std::string(redirect.folder);
    if (std::ranges::find(all, directory) == all.end()) all.push_back(std::move(directory));
  }
  all.push_back(cache_dir + "/pytest");
  return all;
}

Result<Environment> workspace_environment(const WorkspaceRequest& request,
                                          const WorkspaceFacts& facts,
                                          std::vector<std::string>& notes) {
  Environment out;
  for (const std::string_view name : kPassed) pass(out, facts.environment, name);
  for (const auto& entry : facts.environment) {
    if (entry.first.starts_with("LC_")) out.insert(entry);
  }
  pass_addresses(out, facts.environment, notes);
  for (const std::string& name : ca_variables()) {
    const auto found = facts.environment.find(name);
    if (found != facts.environment.end() &&
        std::ranges::find(facts.ca_files, found->second) != facts.ca_files.end()) {
      out.insert(*found);
    }
  }
  if (!out.contains("PATH")) out["PATH"] = "/usr/local/bin:/usr/bin:/bin";
  out["HOME"] = facts.home.empty() ? "/tmp" : facts.home;
  for (const Redirect& redirect : kRedirects) {
    out[std::string(redirect.variable)] = facts.cache_dir + "/" + std::string(redirect.folder);
  }
  // pytest takes its cache's place from its options only.
  out["PYTEST_ADDOPTS"] = "-o cache_dir=" + facts.cache_dir + "/pytest";
  out["npm_config_update_notifier"] = "false";
  out["CUPEL_SANDBOX"] = "1";
  for (const std::string& name : request.pass) {
    if (!is_variable(name))
      return Error{Errc::bad_value, "'" + name + "' is no name of a variable", {}, {}};
    const auto found = facts.environment.find(name);
    if (found != facts.environment.end()) out[name] = found->second;
  }
  for (const auto& [name, value] : request.set) {
    if (!is_variable(name) || value.find('\0') != std::string::npos)
      return Error{Errc::bad_value, "'" + name + "' can't be set", {}, {}};
    out[name] = value;
  }
  return out;
}

}  // namespace cupel::sandbox
