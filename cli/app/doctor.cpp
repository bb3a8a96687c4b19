#include "cli/app/commands.hpp"
#include "cli/app/connection.hpp"
#include "cli/app/engine_check.hpp"
#include "cli/app/local_fleet.hpp"
#include "cli/core/exit_codes.hpp"
#include "cli/image/process.hpp"
#include "common/config/config.hpp"
#include "common/engine/quirks.hpp"
#include "common/fs/files.hpp"
#include "common/text/units.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::cli {
namespace {

constexpr std::uint64_t kDiskNeeded =
    10ULL << 30;  // images, module caches, build caches of a small campaign
constexpr std::uint64_t kInodesNeeded = 500'000;

enum class Mark : unsigned char { ok, warn, fail };

/// Numbered lines with hints; counts what is wrong.
class Sheet {
 public:
  Sheet(Console& console, bool as_json) : console_(console), as_json_(as_json) {}

  void add(Mark mark, const std::string& what, const std::string& hint = "") {
    ++number_;
    failures_ += mark == Mark::fail ? 1 : 0;
    warnings_ += mark == Mark::warn ? 1 : 0;
    const char* word = mark == Mark::ok ? "ok" : mark == Mark::warn ? "warn" : "FAIL";
    lines_.push_back({{"number", number_}, {"result", word}, {"what", what}, {"hint", hint}});
    if (as_json_) return;
    const std::string number = std::to_string(number_);
    console_.out(std::string(number.size() < 2 ? " " : "") + number + " " + word +
                 std::string(5 - std::string(word).size(), ' ') + what + "\n");
    if (!hint.empty() && mark != Mark::ok) console_.out("         → " + hint + "\n");
  }
  void add(const Error& error) {
    const std::string why = error.detail.substr(0, error.detail.find('\n'));
    add(Mark::fail,
        error.what + (why.empty() ? "" : ": " + why) + " (" + error_tag(error.code) + ")",
        error.hint.empty() ? std::string(error_info(error.code).hint) : error.hint);
  }

  [[nodiscard]] int finish() const {
    if (as_json_) {
      console_.out(
          json{{"checks", lines_}, {"failures", failures_}, {"warnings", warnings_}}.dump(1) +
          "\n");
    } else {
      console_.out(std::to_string(failures_) + (failures_ == 1 ? " failure, " : " failures, ") +
                   std::to_string(warnings_) + (warnings_ == 1 ? " warning\n" : " warnings\n"));
    }
    return failures_ > 0 ? kExitFailed : kExitDone;
  }

 private:
  Console& console_;
  bool as_json_;
  int number_ = 0;
  int failures_ = 0;
  int warnings_ = 0;
  std::vector<json> lines_;
};

void check_client(Sheet& sheet, const Request& request) {
  const ClientSettings settings = client_settings(request.globals);
  for (const text::Diagnostic& fault : settings.faults)
    sheet.add(Mark::fail, fault.text(), "correct the file");
  if (settings.faults.empty()) sheet.add(Mark::ok, "client configuration " + settings.file);
  std::error_code failure;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failure);
  for (const char* program : {"cupel-coordinator", "cupel-worker"}) {
    const std::filesystem::path path = self.parent_path() / program;
    const bool there = access(path.c_str(), X_OK) == 0;
    sheet.add(there ? Mark::ok : Mark::warn, there ? path.string() : path.string() + " is missing",
              "'cupel run --local' needs it beside cupel");
  }
  if (!settings.token_file.value.empty()) {
    const auto token = fs::read_secret(settings.token_file.value, 4096);
    if (token) {
      sheet.add(Mark::ok, "token file " + settings.token_file.value + ", owner only");
    } else {
      sheet.add(token.error());
    }
  }
}

void check_coordinator(Sheet& sheet, const Request& request) {
  const ClientSettings settings = client_settings(request.globals);
  if (settings.server.value.empty()) {
    sheet.add(Mark::ok, "no coordinator is named; local mode only");
    return;
  }
  auto client = connect(request.globals);
  if (!client) return sheet.add(client.error());
  if (const auto ready = client->send("GET", "/-/ready"); !ready) return sheet.add(ready.error());
  sheet.add(Mark::ok, "coordinator " + settings.server.value + " is ready");
  const auto version = client->get("/api/v1/version");
  if (!version) return sheet.add(version.error());
  sheet.add(Mark::ok, "token accepted, coordinator version " + text_of(*version, "version"));
  const auto workers = client->get("/api/v1/workers");
  if (!workers) return sheet.add(workers.error());
  std::size_t alive = 0;
  for (const json& worker : list_of(*workers, "workers")) {
    if (text_of(worker, "state") != "lost") ++alive;
    const std::string blocked = text_of(worker, "blocked");
    if (!blocked.empty())
      sheet.add(Mark::warn, "worker " + text_of(worker, "name") + " takes no work: " + blocked,
                "'cupel doctor worker' on its host tells more");
  }
  sheet.add(alive > 0 ? Mark::ok : Mark::fail, std::to_string(alive) + " workers are connected",
            "start cupel-worker with a trusted key: 'cupel key trust'");
}

void check_confinement(Sheet& sheet, const engine::Confinement& confinement) {
  if (const auto confined = engine::check_confined(confinement); !confined)
    return sheet.add(confined.error());
  sheet.add(Mark::ok, "the engine confines containers by " + confinement.text());
  const auto apparmor = fs::read_file("/sys/module/apparmor/parameters/enabled", 16);
  if (apparmor && apparmor->starts_with('Y') && !confinement.apparmor) {
    sheet.add(Mark::warn, "this kernel has AppArmor, and the engine doesn't use it",
              "install the package apparmor and start the engine again");
  }
}

void check_runtimes(Sheet& sheet, const EngineAnswer& engine,
                    const std::vector<std::string>& wanted) {
  if (const auto limits = engine::check_limits(engine.info); !limits) sheet.add(limits.error());
  for (const std::string& runtime : wanted) {
    const auto known = engine::check_runtime(engine.engine, engine.info, runtime);
    if (!known) {
      sheet.add(known.error());
    } else {
      sheet.add(Mark::ok, "the engine has the runtime " + runtime);
    }
  }
}

void check_engine(Sheet& sheet, const Request& request) {
  const auto socket = engine_socket(request.local.engine_socket);
  if (!socket) return sheet.add(socket.error());
  const auto engine = ask_engine(*socket);
  if (!engine) return sheet.add(engine.error());
  sheet.add(Mark::ok, "engine at " + *socket + ", " + engine->engine.name + " version " +
                          engine->version + ", API " + engine->api + ", runtime " +
                          engine->info.default_runtime);
  check_confinement(sheet, engine->confinement);
  check_runtimes(sheet, *engine, request.local.runtimes);
  sheet.add(engine->images == 0 ? Mark::fail : Mark::ok,
            std::to_string(engine->images) + " toolchain images are on the engine",
            "'cupel image pull 1.26' or 'cupel image build 1.26' brings one");
}

/// Bubblewrap in the engine's place: only what is asked for by name can be missing.
void check_bubblewrap(Sheet& sheet, const Request& request) {
  const bool wanted = request.local.engine == kBubblewrap;
  const std::string dir = bubblewrap_images(request.local.image_dir);
  const auto machine = ask_bubblewrap(dir);
  if (!machine) {
    if (wanted) return sheet.add(machine.error());
    return sheet.add(Mark::warn, "runs without an engine: " + machine.error().what,
                     machine.error().hint);
  }
  sheet.add(
      Mark::ok,
      machine->version + ": user namespaces and system call filters work; runs as " + machine->api);
  if (!wanted && machine->images == 0) return;
  sheet.add(machine->images == 0 ? Mark::fail : Mark::ok,
            std::to_string(machine->images) + " unpacked toolchain images are in " + dir,
            "'cupel image build 1.26 --engine bubblewrap' makes one");
}

void check_disk(Sheet& sheet, const std::filesystem::path& dir) {
  std::filesystem::path existing = dir;
  std::error_code failure;
  while (!existing.empty() && !std::filesystem::exists(existing, failure))
    existing = existing.parent_path();
  const auto space = fs::space_of(existing);
  if (!space) return sheet.add(space.error());
  const bool enough = space->bytes_free >= kDiskNeeded &&
                      (space->inodes_total == 0 || space->inodes_free >= kInodesNeeded);
  sheet.add(enough ? Mark::ok : Mark::warn,
            std::to_string(space->bytes_free >> 30U) + " GiB and " +
                std::to_string(space->inodes_free) + " inodes free below " + existing.string(),
            "10 GiB and 500000 inodes are wanted; set XDG_STATE_HOME or the worker's data_dir to a "
            "larger disk");
}

void check_private(Sheet& sheet, const std::filesystem::path& dir) {
  struct stat info{};
  if (lstat(dir.c_str(), &info) != 0) return;  // made at the first run
  const bool good = S_ISDIR(info.st_mode) && (info.st_mode & 077) == 0 && info.st_uid == geteuid();
  sheet.add(
      good ? Mark::ok : Mark::fail,
      dir.string() + (good ? ", owner only" : " is not a folder that only its owner can read"),
      "chmod 700 " + dir.string());
}

void check_key_files(Sheet& sheet, const std::filesystem::path& dir) {
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(dir, failure)) {
    if (entry.path().extension() != ".key") continue;
    const auto key = fs::read_secret(entry.path(), 4096);
    if (key) {
      sheet.add(Mark::ok, "key file " + entry.path().string());
    } else {
      sheet.add(key.error());
    }
  }
}

void check_go(Sheet& sheet, const std::map<std::string, std::string>& variables) {
  const auto proxy = variables.find("GOPROXY");
  if (proxy != variables.end() && !proxy->second.empty())
    return sheet.add(Mark::ok, "module proxy from GOPROXY");
  const std::filesystem::path go =
      find_program("go", variables, {"/usr/local/go/bin/go", "/usr/lib/go/bin/go"});
  if (go.empty()) {
    return sheet.add(
        Mark::warn, "neither GOPROXY nor a go command here",
        "workers take the proxy from their configuration, else from the image's go command");
  }
  Command command;
  command.argv = {go.string(), "env", "GOPROXY", "GOSUMDB"};
  command.environment = {{"HOME", variables.contains("HOME") ? variables.at("HOME") : "/"},
                         {"PATH", "/usr/bin:/bin"}};
  command.limit = std::chrono::seconds(20);
  const auto answer = run_command(command);
  if (!answer) return sheet.add(answer.error());
  const bool only_direct = answer->starts_with("direct") || answer->starts_with("off");
  sheet.add(
      only_direct ? Mark::fail : Mark::ok,
      only_direct ? "go env GOPROXY names no proxy" : "module proxy from go env of " + go.string(),
      "set module_proxy in the worker's configuration");
}

/// What a worker started from here would need to hold runs to the module proxy by rules of the
/// host. The worker's own log says whether it does: whether the engine is on this kernel shows only
/// then.
void check_egress(Sheet& sheet) {
  std::string missing;
  const auto need = [&](bool there, const char* what) {
    if (!there) missing += (missing.empty() ? "" : ", ") + std::string(what);
  };
  const auto filter = fs::read_file("/proc/sys/net/bridge/bridge-nf-call-iptables", 16);
  need(geteuid() == 0, "root");
  need(access("/usr/sbin/iptables", X_OK) == 0, "iptables");
  need(filter && filter->starts_with('1'), "br_netfilter");
  sheet.add(missing.empty() ? Mark::ok : Mark::warn,
            missing.empty() ? "egress of runs can be enforced"
                            : "egress of runs is configured, not enforced; missing: " + missing,
            "campaigns with a network run all the same; docs/security.md says what differs");
}

void check_worker(Sheet& sheet, const Request& request) {
  const auto variables = config::process_environment();
  if (request.local.engine != kBubblewrap) check_engine(sheet, request);
  check_bubblewrap(sheet, request);
  check_private(sheet, state_home() / "local");
  check_key_files(sheet, state_home() / "local" / "keys");
  check_disk(sheet, state_home());
  check_go(sheet, variables);
  if (request.local.engine != kBubblewrap) return check_egress(sheet);
  sheet.add(Mark::warn, "egress of runs is configured: bubblewrap can't enforce it",
            "campaigns with a network run all the same; docs/security.md says what differs");
}

}  // namespace

int run_doctor(const Request& request, Console& console) {
  Sheet sheet(console, console.json());
  const std::string& part = request.subject;
  if (part.empty() || part == "client") check_client(sheet, request);
  if (part.empty() || part == "coordinator") check_coordinator(sheet, request);
  if (part.empty() || part == "worker") check_worker(sheet, request);
  return sheet.finish();
}

}  // namespace cupel::cli
