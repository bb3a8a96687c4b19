#include "cli/core/reproduce.hpp"

#include "common/text/units.hpp"

#include <algorithm>
#include <cmath>

namespace cupel::cli {
namespace {

/// The go line of a module without one, as acquire writes it.
constexpr const char* kGoLine = "go 1.16";

std::uint64_t bytes_at(const json& limits, const char* key, std::uint64_t fallback) {
  return text::parse_size(text_of(limits, key)).value_or(fallback);
}

std::string flags_of(const json& unit) {
  if (flag_of(unit, "vendored")) return "-mod=vendor -buildvcs=false";
  return text_of(unit, "workspace").empty() ? "-mod=readonly -buildvcs=false" : "-buildvcs=false";
}

/// What the execute profile sets, whatever the image says.
json environment_of(const json& unit, bool c_compiler, double cpus, std::uint64_t memory) {
  const std::string workspace = text_of(unit, "workspace");
  return {{"CGO_ENABLED", c_compiler ? "1" : "0"},
          {"GIT_TERMINAL_PROMPT", "0"},
          {"GOAUTH", "off"},
          {"GOCACHE", "/gocache"},
          {"GOENV", "off"},
          {"GOFLAGS", flags_of(unit)},
          {"GOMAXPROCS", std::to_string(std::max(1L, std::lround(std::ceil(cpus))))},
          {"GOMEMLIMIT", std::to_string(memory / 4 * 3 / 1024 / 1024) + "MiB"},
          {"GOMODCACHE", "/modcache"},
          {"GOPATH", "/tmp/gopath"},
          {"GOPROXY", "off"},
          {"GOSUMDB", "off"},
          {"GOTMPDIR", "/tmp"},
          {"GOTOOLCHAIN", "local"},
          {"GOVCS", "*:off"},
          {"GOWORK", workspace.empty() ? "off" : "/src/" + workspace},
          {"HOME", "/tmp"},
          {"TMPDIR", "/tmp"},
          {"USER", "nobody"}};
}

/// The source in ./src, as a git repository with one commit to apply a patch to.
std::string get_source(const json& source, const std::string& commit) {
  const std::string url = text_of(source, "url");
  if (!url.empty()) {
    return "git clone " + shell_quoted(url) +
           " src\ngit -C src -c core.hooksPath=/dev/null "
           "checkout --detach " +
           shell_quoted(commit) + "\n";
  }
  const std::string path = text_of(source, "path");
  if (path.empty()) {
    return "# the source was uploaded from " + shell_quoted(text_of(source, "name")) +
           ": put its commit " + shell_quoted(commit) + " into ./src\n";
  }
  // A published module has no commit: its files become one. Attributes in them don't count, so that
  // every byte stays as it is.
  const std::string module = path + "@" + text_of(source, "version");
  return "fetch \"$IMAGE\" go mod download " + shell_quoted(module) +
         "\nmkdir src && cp -r \"$(find modcache -type d -path " +
         shell_quoted("*@" + text_of(source, "version")) +
         " -print -quit)/.\" src && chmod -R u+w src\n"
         "[ -e src/go.mod ] || cp \"$(find modcache/cache -name " +
         shell_quoted(text_of(source, "version") + ".mod") +
         " -print -quit)\" src/go.mod\n"
         "git -c init.defaultBranch=main init -q src\n"
         "echo '* -text -filter -ident -working-tree-encoding' "
         ">src/.git/info/attributes\n"
         "commit() { git -C src -c user.name=cupel -c user.email=cupel@localhost \"$@\"; }\n"
         "commit add -A -f && commit commit -q -m " +
         shell_quoted(module) + "\n";
}

std::string check_tree(const std::string& tree) {
  if (tree.empty()) return "";
  return "[ \"$(git -C src rev-parse 'HEAD^{tree}')\" = " + tree +
         " ] || echo 'the tree is another one than in the fleet' >&2\n";
}

/// What acquire does: all modules, and manifests that lack something are completed.
std::string get_modules(const json& plan, const std::string& work) {
  if (flag_of(plan, "vendored")) return "";
  if (!text_of(plan, "workspace").empty()) {
    return "# once, with network: the modules\n"
           "fetch -v \"$PWD/src:/src:ro\" -w " +
           shell_quoted(work) + " \"$IMAGE\" env " +
           shell_quoted("GOWORK=/src/" + text_of(plan, "workspace")) +
           " go list -e -deps -test ./... >/dev/null\n";
  }
  const std::string unit = text_of(plan, "dir");
  const std::string dir = unit.empty() || unit == "." ? "src" : "src/" + unit;
  const bool after = text_of(plan, "side") == "after" && !text_of(plan, "mail").empty();
  return "# once, with network: the modules; manifests that lack something are completed\n"
         "dir=" +
         shell_quoted(dir) +
         "\nmkdir staging && cp \"$dir/go.mod\" staging/ && { [ ! -e \"$dir/go.sum\" ] || cp "
         "\"$dir/go.sum\" staging/; }\n"
         "grep -q '^go ' staging/go.mod || printf '\\n" +
         kGoLine +
         "\\n' >>staging/go.mod\n"
         "chmod -R a+rwX staging\n"
         "fetch -v \"$PWD/src:/src:ro\" -v \"$PWD/staging:/staging\" -w " +
         shell_quoted(work) +
         " \"$IMAGE\" env GOFLAGS=-mod=mod go mod download -modfile=/staging/go.mod all\n"
         "[ ! -e staging/go.sum ] || cp staging/go.sum \"$dir/\"\n" +
         (after ? "" : "cp staging/go.mod \"$dir/\"\n");
}

std::string set_image(const std::string& identity) {
  const std::string id = shell_quoted(identity);
  return "# The image by its identity: a label of an assembled one, the digest of a pulled one.\n"
         "IMAGE=$(docker image ls -q --no-trunc --filter label=cupel.image.identity=" +
         id +
         " | head -n 1)\n"
         "[ -n \"$IMAGE\" ] || IMAGE=$(docker image ls --no-trunc --digests --format '{{.Digest}} "
         "{{.ID}}' | sed -n " +
         shell_quoted("s/^" + identity + " //p") +
         " | head -n 1)\n"
         "[ -n \"$IMAGE\" ] || { echo \"no image has the identity \"" +
         id + " >&2; exit 1; }\n";
}

/// A run with network. The host's own proxy settings and authorities hold.
constexpr const char* kFetch =
    "fetch() {\n"
    "  docker run --rm --user 65534:65534 -v \"$PWD/modcache:/modcache\" \\\n"
    "    ${SSL_CERT_FILE:+-v \"$SSL_CERT_FILE:/ca.pem:ro\" -e SSL_CERT_FILE=/ca.pem} \\\n"
    "    -e GOPROXY -e GOSUMDB -e HTTPS_PROXY -e https_proxy -e NO_PROXY -e no_proxy \\\n"
    "    -e HOME=/tmp -e GOPATH=/tmp/gopath -e GOCACHE=/tmp/gocache -e GOMODCACHE=/modcache \\\n"
    "    -e GOTOOLCHAIN=local -e GOENV=off -e GOWORK=off \"$@\"\n"
    "}\n";

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

json reproduction(const json& unit, const json& document, const SideEvidence& of) {
  const json& sandbox = member(document, "sandbox");
  const json& limits = member(sandbox, "limits");
  const double cpus = number_of(limits, "cpus", 2);
  const std::uint64_t memory = bytes_at(limits, "memory", 2ULL << 30U);
  const bool c_compiler =
      !member(sandbox, "c_compiler").is_boolean() || flag_of(sandbox, "c_compiler");
  const json& comparison = member(unit, "comparison");
  const json& conditions = member(member(comparison, of.side.c_str()), "conditions");
  const json& evidence = conditions.is_object() ? conditions : member(unit, "evidence");
  const json& record = of.result.is_object() ? of.result : unit;
  json checks = json::array();
  for (const json& check : list_of(record, "checks")) {
    checks.push_back({{"check", text_of(check, "check")},
                      {"name", text_of(check, "name")},
                      {"command", list_of(check, "command")},
                      {"exit_code", member(check, "exit_code")},
                      {"outcome", text_of(check, "outcome")}});
  }
  const json& change = member(comparison, "change");
  return {{"unit", unit_name(unit)},
          {"side", of.side},
          {"source", member(unit, "source")},
          {"commit", text_of(unit, "commit")},
          {"tree", text_of(unit, "tree")},
          {"dir", text_of(unit, "dir")},
          {"vendored", flag_of(unit, "vendored")},
          {"workspace", text_of(unit, "workspace")},
          {"patch", text_of(change, "patch")},
          {"mail", of.mail},
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
          {"environment", environment_of(unit, c_compiler, cpus, memory)},
          {"checks", std::move(checks)}};
}

std::string reproduction_script(const json& plan) {
  const json& limits = member(plan, "limits");
  const std::string dir = text_of(plan, "dir");
  const std::string work = dir.empty() || dir == "." ? "/src" : "/src/" + dir;
  std::string out = "#!/bin/sh\n# " + shell_quoted(text_of(plan, "unit")) + ", " +
                    text_of(plan, "side") + ", " + text_of(plan, "go_version") +
                    "\n# Run it in an empty folder.\nset -eu\n" +
                    set_image(text_of(plan, "image")) +
                    "mkdir modcache gocache && chmod 0777 modcache gocache\n" + kFetch + "\n";
  out += get_source(member(plan, "source"), text_of(plan, "commit"));
  out += check_tree(text_of(plan, "tree"));
  const std::string mail = text_of(plan, "mail");
  if (text_of(plan, "side") == "after" && !mail.empty()) {
    // No line of a mail is the digest of the diff in it.
    const std::string end = "END-" + text_of(plan, "patch");
    out += "# the change\ngit -C src -c user.name=cupel -c user.email=cupel@localhost am -q <<'" +
           end + "'\n" + mail + (mail.ends_with('\n') ? "" : "\n") + end + "\n";
  } else if (text_of(plan, "side") == "after" && !text_of(plan, "patch").empty()) {
    out +=
        "# the change is too large for a script: get it from the coordinator\n"
        "git -C src am \"$PATCH\"\n";
  }
  out += "chmod -R a+rX src\n" + get_modules(plan, work);
  out +=
      "\ncheck() {\n  program=$1\n  shift\n  docker run --rm --network none --read-only --user " +
      text_of(plan, "user") + " --cap-drop ALL --security-opt no-new-privileges \\\n    --cpus " +
      text_of(limits, "cpus") + " --memory " + text_of(limits, "memory_bytes") + " --memory-swap " +
      text_of(limits, "memory_bytes") + " --pids-limit " + text_of(limits, "pids") +
      " --ulimit nofile=4096 --ulimit core=0 \\\n"
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
    if (text_of(check, "check") == "scan") {
      out += "# the scan is left out: scanner and database are the fleet's\n";
      continue;
    }
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
