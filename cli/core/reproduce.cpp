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

/// Attributes of the repository in this folder change no byte, as in the fleet's snapshots.
std::string plain_bytes(const std::string& folder) {
  return "echo '* -text -filter -ident -working-tree-encoding' >" + folder +
         "/.git/info/attributes\n";
}

/// A commit of `from` (words of a shell) in the folder `to`.
std::string checked_out(const std::string& from, const std::string& commit, const std::string& to) {
  const std::string git = "git -C " + to + " -c core.hooksPath=/dev/null -c core.autocrlf=false ";
  return "git clone -q --no-checkout " + from + " " + to + "\n" + plain_bytes(to) + git +
         "checkout -q --detach " + shell_quoted(commit) + "\n";
}

/// A folder of somebody's machine: its commit where git has it, else its files as they are.
std::string uploaded(const std::string& variable, const std::string& name,
                     const std::string& commit, const std::string& to) {
  const std::string folder = "\"$" + variable + "\"";
  return "# uploaded from the folder " + shell_quoted(name) + ": " + variable +
         " names it\n: \"${" + variable + ":?name the folder that was uploaded}\"\nif git -C " +
         folder + " cat-file -e " + shell_quoted(commit + "^{commit}") + " 2>/dev/null; then\n" +
         checked_out(folder, commit, to) +
         "else\n  echo 'the folder has no such commit: its files are taken as they are' >&2\n"
         "  cp -R " +
         folder + " " + to + " && rm -rf " + to + "/.git && git init -q " + to + "\nfi\n";
}

/// The source in ./src, as a git repository with one commit to apply a patch to.
std::string get_source(const json& source, const std::string& commit) {
  const std::string url = text_of(source, "url");
  if (!url.empty()) return checked_out(shell_quoted(url), commit, "src");
  const std::string own_commit =
      "commit() { git -C src -c user.name=cupel -c user.email=cupel@localhost \"$@\"; }\n"
      "commit add -A -f && commit commit -q -m ";
  const std::string path = text_of(source, "path");
  if (path.empty()) {
    return uploaded("SOURCE", text_of(source, "name"), commit, "src") + plain_bytes("src") +
           "git -C src rev-parse -q --verify HEAD >/dev/null || {\n" + own_commit + "source\n}\n";
  }
  // A published module has no commit: its files become one.
  const std::string module = path + "@" + text_of(source, "version");
  const std::string sum = commit.starts_with("sum:") ? commit.substr(4) : "";
  std::string out = "fetch \"$IMAGE\" go mod download " + shell_quoted(module) + "\n";
  if (!sum.empty()) {
    out += "[ \"$(cat \"$(find modcache/cache/download -name " +
           shell_quoted(text_of(source, "version") + ".ziphash") +
           " -print -quit)\")\" = " + shell_quoted(sum) +
           " ] || { echo 'the module is another one than in the fleet' >&2; "
           "exit 1; }\n";
  }
  return out + "mkdir src && cp -r \"$(find modcache -type d -path " +
         shell_quoted("*@" + text_of(source, "version")) +
         " -print -quit)/.\" src && chmod -R u+w src\n"
         "[ -e src/go.mod ] || cp \"$(find modcache/cache -name " +
         shell_quoted(text_of(source, "version") + ".mod") +
         " -print -quit)\" src/go.mod\n"
         "git -c init.defaultBranch=main init -q src\n" +
         plain_bytes("src") + own_commit + shell_quoted(module) + "\n";
}

/// The candidates of a campaign of kind replace, where mutate put them beside the unit's code.
std::string get_candidates(const json& plan, const std::string& dir) {
  std::string out;
  std::size_t number = 0;
  for (const json& one : list_of(plan, "candidates")) {
    const std::string variable = "CANDIDATE_" + std::to_string(number++);
    const std::string to = shell_quoted(dir + "/" + text_of(one, "at"));
    const std::string commit = text_of(one, "commit");
    const std::string url = text_of(member(one, "with"), "git");
    out += "# the candidate of " + shell_quoted(text_of(one, "module")) + "\n";
    out += url.empty() ? uploaded(variable, text_of(member(one, "with"), "name"), commit, to)
                       : checked_out(shell_quoted(url), commit, to);
    out += "rm -rf " + to + "/.git\n";
  }
  return out;
}

/// What mutate does to the staged manifests for them.
std::string replace_modules(const json& plan, const std::string& run) {
  std::string out;
  for (const json& one : list_of(plan, "candidates")) {
    out += run + "go mod edit " +
           shell_quoted("-replace=" + text_of(one, "module") + "=" + text_of(one, "target")) +
           " /staging/go.mod\n";
  }
  return out.empty() ? out : out + run + "go mod tidy -modfile=/staging/go.mod\n";
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
  const std::string run = "fetch -v \"$PWD/src:/src:ro\" -v \"$PWD/staging:/staging\" -w " +
                          shell_quoted(work) + " \"$IMAGE\" env GOFLAGS=-mod=mod ";
  return "# once, with network: the modules; manifests that lack something are completed\n"
         "dir=" +
         shell_quoted(dir) +
         "\nmkdir staging && cp \"$dir/go.mod\" staging/ && { [ ! -e \"$dir/go.sum\" ] || cp "
         "\"$dir/go.sum\" staging/; }\n"
         "grep -q '^go ' staging/go.mod || printf '\\n" +
         kGoLine +
         "\\n' >>staging/go.mod\n"
         "chmod -R a+rwX staging\n" +
         replace_modules(plan, run) + run +
         "go mod download -modfile=/staging/go.mod all\n"
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

/// A run with network. The host's own proxy settings and authorities hold; the campaign says which
/// modules are private, as to the worker.
std::string fetch_function(const json& plan) {
  const std::string hidden = text_of(member(plan, "private"), "goprivate");
  std::string unproven = text_of(member(plan, "private"), "gonosumdb");
  if (unproven.empty()) unproven = hidden;
  std::string words;
  if (!hidden.empty()) words += " -e " + shell_quoted("GOPRIVATE=" + hidden) + " -e GONOPROXY=none";
  if (!unproven.empty()) words += " -e " + shell_quoted("GONOSUMDB=" + unproven);
  return "fetch() {\n"
         "  docker run --rm --user 65534:65534 -v \"$PWD/modcache:/modcache\" \\\n"
         "    ${SSL_CERT_FILE:+-v \"$SSL_CERT_FILE:/ca.pem:ro\" -e SSL_CERT_FILE=/ca.pem} \\\n"
         "    -e GOPROXY -e GOSUMDB -e HTTPS_PROXY -e https_proxy -e NO_PROXY -e no_proxy" +
         words +
         " \\\n"
         "    -e HOME=/tmp -e GOPATH=/tmp/gopath -e GOCACHE=/tmp/gocache -e GOMODCACHE=/modcache "
         "\\\n"
         "    -e GOTOOLCHAIN=local -e GOENV=off -e GOWORK=off \"$@\"\n"
         "}\n";
}

/// Candidates of kind replace that no patch holds: what stands in for a module, and where.
json candidates_of(const json& change, const json& asked) {
  constexpr std::string_view kPlace = "=> ./";
  json out = json::array();
  const json& replace = member(asked, "replace");
  for (const json& move : list_of(change, "moved")) {
    const std::string to = text_of(move, "to");
    const std::string module = text_of(move, "module");
    const std::size_t at = to.find(kPlace);
    if (!replace.is_array() || at == std::string::npos) continue;
    const auto of_module = [&module](const json& one) { return text_of(one, "module") == module; };
    const auto wanted = std::ranges::find_if(replace, of_module);
    const json& resolved = list_of(change, "resolved");
    const auto pinned = std::ranges::find_if(resolved, of_module);
    if (wanted == replace.end() || pinned == resolved.end()) continue;
    const std::string place = to.substr(at + kPlace.size());
    // ".cupel-candidate/0" and below it, where the module isn't at the root of the candidate.
    const std::size_t below = place.find('/', place.find('/') + 1);
    out.push_back({{"module", module},
                   {"with", member(*wanted, "with")},
                   {"commit", text_of(*pinned, "version")},
                   {"at", place.substr(0, below)},
                   {"target", "./" + place}});
  }
  return out;
}

/// What the script can't repeat, so that it says so instead of running something else.
std::string why_not_repeatable(const json& plan) {
  if (text_of(plan, "side") != "after") return {};
  const bool candidates = !list_of(plan, "candidates").empty();
  if (candidates && (flag_of(plan, "vendored") || !text_of(plan, "workspace").empty())) {
    return "the change puts candidates into a copy of a vendored tree or a workspace: this script "
           "does not";
  }
  if (flag_of(plan, "changed") && !candidates && text_of(plan, "patch").empty()) {
    return "no patch holds the change of this unit";
  }
  return {};
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

std::string side_not_run(const json& unit, const std::string& side) {
  const json& comparison = member(unit, "comparison");
  if (!comparison.is_object() || member(comparison, side.c_str()).is_object()) return {};
  return "the " + side + " side of " + unit_name(unit) + " was not run";
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
          {"changed", !list_of(change, "moved").empty()},
          {"candidates",
           of.side == "after" ? candidates_of(change, member(document, "change")) : json::array()},
          {"private", member(sandbox, "private")},
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
                    set_image(text_of(plan, "image")) + "mkdir modcache && chmod 0777 modcache\n" +
                    fetch_function(plan) + "\n";
  if (const std::string why = why_not_repeatable(plan); !why.empty()) {
    return out + "echo " + shell_quoted(why) + " >&2\nexit 1\n";
  }
  const std::string unit_dir = work == "/src" ? "src" : "src" + work.substr(4);
  out += get_source(member(plan, "source"), text_of(plan, "commit"));
  const std::string mail = text_of(plan, "mail");
  if (text_of(plan, "side") == "after" && !mail.empty()) {
    // No line of a mail is the digest of the diff in it.
    const std::string end = "END-" + text_of(plan, "patch");
    out += "# the change\ngit -C src -c user.name=cupel -c user.email=cupel@localhost am -q <<'" +
           end + "'\n" + mail + (mail.ends_with('\n') ? "" : "\n") + end + "\n";
  } else if (text_of(plan, "side") == "after" && !text_of(plan, "patch").empty()) {
    out +=
        "# the change is too large for a script: get it from the coordinator\n"
        "git -C src am \"${PATCH:?the file with the change}\"\n";
  }
  out += get_candidates(plan, unit_dir);
  out += "chmod -R a+rX src\n" + get_modules(plan, work);
  out +=
      "\n# check CACHE COMMAND...\ncheck() {\n  cache=$1 program=$2\n  shift 2\n  [ -e \"$cache\" "
      "] || "
      "{ mkdir \"$cache\" && chmod 0777 \"$cache\"; }\n  docker run --rm --network none "
      "--read-only --user " +
      text_of(plan, "user") + " --cap-drop ALL --security-opt no-new-privileges \\\n    --cpus " +
      text_of(limits, "cpus") + " --memory " + text_of(limits, "memory_bytes") + " --memory-swap " +
      text_of(limits, "memory_bytes") + " --pids-limit " + text_of(limits, "pids") +
      " --ulimit nofile=4096 --ulimit core=0 \\\n"
      "    --tmpfs /tmp:rw,nosuid,nodev,exec,mode=1777,size=" +
      text_of(limits, "tmp_bytes") +
      " \\\n    -v \"$PWD/src:/src:ro\" -v \"$PWD/modcache:/modcache:ro\" "
      "-v \"$PWD/$cache:/gocache\" -w " +
      shell_quoted(work) + " \\\n   ";
  for (const auto& [name, value] : member(plan, "environment").items()) {
    if (value.is_string()) out += " -e " + shell_quoted(name + "=" + value.get<std::string>());
  }
  out += " \\\n    --entrypoint \"$program\" \"$IMAGE\" \"$@\"\n}\n\n";
  std::size_t own_caches = 0;
  for (const json& check : list_of(plan, "checks")) {
    if (text_of(check, "check") == "scan") {
      out += "# the scan is left out: scanner and database are the fleet's\n";
      continue;
    }
    // A check of the campaign's own has a build cache of its own, as in the fleet.
    const bool own = text_of(check, "check") == "custom";
    std::string line = "check gocache" + (own ? "-" + std::to_string(++own_caches) : "");
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
