/// What the command line asks for, as values. options.cpp fills it; nothing else knows CLI11.
#pragma once

#include "cli/image/commands.hpp"
#include "cli/sandbox/commands.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cupel::cli {

enum class Verb : unsigned char {
  none,
  init,
  check,
  plan,
  run,
  watch,
  results,
  logs,
  report,
  patches,
  reproduce,
  retry,
  flakes,
  cancel,
  doctor,
  key_generate,
  key_show,
  key_trust,
  key_revoke,
  worker_ls,
  worker_drain,
  worker_undrain,
  worker_quarantine,
  worker_release,
  why,
  deadletter_ls,
  deadletter_replay,
  deadletter_drop,
  campaign_ls,
  campaign_pause,
  campaign_resume,
  image,
  version,
  completion,
  config_schema,
  config_show,
  config_check,
  help,
  sandbox,
};

struct Globals {
  std::string server;
  std::string token_file;
  std::string ca_file;
  std::string format = "text";  ///< text | json | ndjson
  bool quiet = false;
  bool no_color = false;
  std::string progress = "auto";  ///< auto | plain | none
  std::string timeout;            ///< A duration; empty = none.

  [[nodiscard]] bool json() const { return format == "json" || format == "ndjson"; }
};

struct LocalOptions {
  bool enabled = false;
  std::uint32_t workers = 1;
  std::uint32_t slots = 0;  ///< 0: the worker's own default.
  std::string engine;       ///< docker or bubblewrap; empty: docker.
  std::string engine_socket;
  std::vector<std::string> runtimes;  ///< doctor: those the engine must know.
  std::string image_dir;  ///< bubblewrap's images; empty: where 'cupel image build' puts them.
  std::string data_dir;   ///< Of the first worker; further ones get -2, -3, ...
  std::string worker_config;
  std::string coordinator_config;
};

inline constexpr std::string_view kBubblewrap = "bubblewrap";

struct Request {
  Verb verb = Verb::none;
  Globals globals;
  LocalOptions local;
  std::string file = "campaign.yaml";
  std::string plan;                 ///< run --plan
  std::optional<std::uint32_t> aa;  ///< run --aa
  std::string campaign;             ///< c-..., of most verbs
  std::string subject;  ///< logs: unit or task; worker: id or name; why: task or unit; deadletter:
                        ///< task or campaign; completion: shell; help: topic; doctor: part
  bool detach = false;
  bool exit_zero = false;
  bool repos = false;  ///< plan --repos
  bool dry_run = false;
  std::string report_dir;
  std::string output;  ///< -o; "-" = standard output; of patches a folder
  std::string report_format = "markdown";
  std::size_t bytes_max = 60'000;
  std::vector<std::string> verdicts;
  std::string repo_glob;
  std::string check = "test";
  std::string stream;          ///< Empty: stdout, or stderr where nothing of stdout was kept.
  std::string side = "after";  ///< reproduce
  bool follow = false;
  bool raw = false;             ///< logs: events as the go command wrote them
  std::string directory = ".";  ///< init
  std::string key_file;
  std::string trust_file;
  std::string name;                 ///< key trust: of the worker
  std::string key;                  ///< key trust: Z85 or a file
  std::vector<std::string> labels;  ///< key=value; of key trust and of orders for workers
  std::string deadline;             ///< worker drain: a duration; empty = none
  std::string why;                  ///< worker quarantine
  bool without_probe = false;       ///< worker release
  std::string state;                ///< campaign ls, deadletter ls
  ImageRequest image;
  SandboxRequest sandbox;
};

/// Either a request, or an exit code with everything printed (help, usage error).
struct ParsedLine {
  std::optional<Request> request;
  int exit_code = 0;
};
[[nodiscard]] ParsedLine parse_line(int argc, const char* const* argv);

/// Script for a shell. Errors are impossible: the parser accepts bash, zsh and fish only.
[[nodiscard]] std::string completion_script(const std::string& shell);

}  // namespace cupel::cli
