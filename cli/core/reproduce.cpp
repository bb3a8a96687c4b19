#include "cli/core/reproduce.hpp"

#include "common/text/units.hpp"

#include <algorithm>
#include <cmath>

namespace cupel::cli {
namespace {

const json& member(const json& object, const char* key) {
  static const json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

std::uint64_t bytes_at(const json& limits, const char* key, std::uint64_t fallback) {
  return text::parse_size(text_of(limits, key)).value_or(fallback);
}

/// What the execute profile sets, whatever the image says.
json environment_of(const json& unit, double cpus, std::uint64_t memory) {
  const bool vendored = flag_of(member(unit, "modules"), "vendored");
  const std::string flags = vendored ? "-mod=vendor" : "-mod=readonly";
  return {{"CGO_ENABLED", "1"},
          {"GOAUTH", "off"},
          {"GOCACHE", "/gocache"},
          {"GOENV", "off"},
          {"GOFLAGS", flags + " -buildvcs=false"},
          {"GOMAXPROCS", std::to_string(std::max(1L, std::lround(std::ceil(cpus))))},
          {"GOMEMLIMIT", std::to_string(memory / 4 * 3 / 1024 / 1024) + "MiB"},
          {"GOMODCACHE", "/modcache"},
          {"GOPATH", "/tmp/gopath"},
          {"GOPROXY", "off"},
          {"GOSUMDB", "off"},
          {"GOTMPDIR", "/tmp"},
          {"GOTOOLCHAIN", "local"},
          {"GOVCS", "*:off"},
          {"GOWORK", "off"},
          {"HOME", "/tmp"},
          {"TMPDIR", "/tmp"},
          {"USER", "nobody"}};
}

std::string get_source(const json& source, const std::string& commit) {
  const std::string url = text_of(source, "url");
  if (!url.empty()) {
    return "git clone " + shell_quoted(url) +
           " src\ngit -C src -c core.hooksPath=/dev/null "
           "checkout --detach " +
           shell_quoted(commit) + "\n";
  }
  const std::string path = text_of(source, "path");
  if (!path.empty()) {
    const std::string module = path + "@" + text_of(source, "version");
    return "cp -r \"$(go mod download -json " + shell_quoted(module) +
           " | sed -n 's/.*\"Dir\": \"\\(.*\\)\".*/\\1/p')\" src && chmod -R u+w src\n";
  }
  return "# the source was uploaded from " + shell_quoted(text_of(source, "name")) +
         ": put its commit " + shell_quoted(commit) + " into ./src\n";
}

}  // namespace

std::string shell_quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else if (c != '\0') {
      out += c;
    }
  }
  return out + "'";
}

json reproduction(const json& unit, const json& document, const std::string& side) {
  const json& limits = member(member(document, "sandbox"), "limits");
  const double cpus = number_of(limits, "cpus", 2);
  const std::uint64_t memory = bytes_at(limits, "memory", 2ULL << 30U);
  const json& conditions = member(member(member(unit, "comparison"), side.c_str()), "conditions");
  const json& evidence = conditions.is_object() ? conditions : member(unit, "evidence");
  json checks = json::array();
  for (const json& check : list_of(unit, "checks")) {
    checks.push_back({{"check", text_of(check, "check")},
                      {"name", text_of(check, "name")},
                      {"command", list_of(check, "command")},
                      {"exit_code", member(check, "exit_code")},
                      {"outcome", text_of(check, "outcome")}});
  }
  return {{"unit", unit_name(unit)},
          {"side", side},
          {"source", member(unit, "source")},
          {"commit", text_of(unit, "commit")},
          {"dir", text_of(unit, "dir")},
          {"patch", text_of(member(member(unit, "comparison"), "change"), "patch")},
          {"image", text_of(evidence, "image")},
          {"go_version", text_of(evidence, "go_version")},
          {"engine", text_of(evidence, "engine")},
          {"network", "none"},
          {"user", "65534:65534"},
          {"limits",
           {{"cpus", cpus},
            {"memory_bytes", memory},
            {"pids", static_cast<std::uint64_t>(number_of(limits, "pids", 512))},
            {"tmp_bytes", bytes_at(limits, "tmp", 1ULL << 30U)}}},
          {"environment", environment_of(unit, cpus, memory)},
          {"checks", std::move(checks)}};
}

std::string reproduction_script(const json& plan) {
  const json& limits = member(plan, "limits");
  const std::string dir = text_of(plan, "dir");
  const std::string work = dir.empty() || dir == "." ? "/src" : "/src/" + dir;
  const std::string commit = text_of(plan, "commit");
  std::string out = "#!/bin/sh\n# " + shell_quoted(text_of(plan, "unit")) + ", " +
                    text_of(plan, "side") + ", " + text_of(plan, "go_version") +
                    "\n# `cupel image ls` names the engine's image of identity " +
                    shell_quoted(text_of(plan, "image")) +
                    "\nset -eu\nIMAGE=" + shell_quoted(text_of(plan, "image")) + "\n";
  out += get_source(member(plan, "source"), commit);
  if (text_of(plan, "side") == "after" && !text_of(plan, "patch").empty()) {
    out += "# the change: its patch is written by `cupel patches`\ngit -C src am \"$PATCH\"\n";
  }
  out +=
      "mkdir -p modcache gocache && chmod 0777 modcache gocache\n\n"
      "# once, with network: the modules\n"
      "docker run --rm -u \"$(id -u)\" -v \"$PWD/src:/src:ro\" -v \"$PWD/modcache:/modcache\" "
      "-w " +
      shell_quoted(work) +
      " -e HOME=/tmp -e GOMODCACHE=/modcache -e GOTOOLCHAIN=local \"$IMAGE\" go mod download "
      "all\n\ncheck() {\n  program=$1\n  shift\n  docker run --rm --network none --read-only "
      "--user " +
      text_of(plan, "user") + " --cap-drop ALL --security-opt no-new-privileges \\\n    --cpus " +
      text_of(limits, "cpus") + " --memory " + text_of(limits, "memory_bytes") + " --memory-swap " +
      text_of(limits, "memory_bytes") + " --pids-limit " + text_of(limits, "pids") +
      " --ulimit nofile=4096 --ulimit core=0 --hostname cupel \\\n"
      "    --tmpfs /tmp:rw,nosuid,nodev,exec,mode=1777,size=" +
      text_of(limits, "tmp_bytes") +
      " \\\n    -v \"$PWD/src:/src:ro\" -v \"$PWD/modcache:/modcache:ro\" "
      "-v \"$PWD/gocache:/gocache\" -w " +
      shell_quoted(work) + " \\\n   ";
  for (const auto& [name, value] : member(plan, "environment").items()) {
    if (value.is_string()) out += " -e " + shell_quoted(name + "=" + value.get<std::string>());
  }
  out += " \\\n    --entrypoint \"$program\" \"$IMAGE\" \"$@\"\n}\n\n";
  for (const json& check : list_of(plan, "checks")) {
    std::string line = "check";
    for (const json& word : list_of(check, "command")) {
      if (word.is_string()) line += " " + shell_quoted(word.get<std::string>());
    }
    const std::string exit_code = text_of(check, "exit_code");
    out += line + " || echo \"exit code $?\"  # " + text_of(check, "outcome") +
           (exit_code.empty() ? "" : ", exit code " + exit_code) + " in the fleet\n";
  }
  return out;
}

}  // namespace cupel::cli
