#include "worker/core/agent/spec_policy.hpp"

#include "common/core/limits.hpp"

#include <algorithm>
#include <string_view>

namespace cupel::worker {
namespace {

using Refused = std::optional<std::string>;

constexpr std::string_view kAlnum =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
// Below these an engine takes a limit for "none", or refuses it.
constexpr std::uint32_t kCpuMillisMin = 10;
constexpr std::uint64_t kMemoryMin = 6ULL << 20;
constexpr std::size_t kPatternsMax = 1000;
constexpr std::size_t kShownMax = 120;

bool only(std::string_view text, std::string_view more) {
  return std::ranges::all_of(text, [more](char c) {
    return kAlnum.find(c) != std::string_view::npos || more.find(c) != std::string_view::npos;
  });
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

/// Foreign words in a message of ours: short, and without what a terminal would obey.
std::string shown(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, kShownMax)) out += has_control({&c, 1}) ? '?' : c;
  return out + "'";
}

/// Relative, and no step out of the tree.
bool stays_below(std::string_view path) {
  if (path.empty() || path.size() > kNameBytesMax || path.front() == '/' || has_control(path))
    return false;
  while (!path.empty()) {
    const std::size_t end = path.find('/');
    const std::string_view step = path.substr(0, end);
    if (step.empty() || step == "..") return false;
    if (end == std::string_view::npos) break;
    path.remove_prefix(end + 1);
  }
  return true;
}

Refused bad_path(std::string_view what, std::string_view path) {
  if (stays_below(path)) return std::nullopt;
  return std::string(what) + " " + shown(path) + " is not a path below the tree";
}

Refused bad_word(std::string_view what, std::string_view word) {
  if (word.starts_with('-'))
    return std::string(what) + " " + shown(word) + " would be read as an option";
  if (has_control(word))
    return std::string(what) + " " + shown(word) + " holds a control character";
  return std::nullopt;
}

Refused bad_unit(const UnitInfo& unit) {
  if (auto bad = bad_path("the unit's folder", unit.dir.empty() ? "." : unit.dir)) return bad;
  if (!unit.workspace.empty()) {
    if (auto bad = bad_path("the workspace", unit.workspace)) return bad;
  }
  for (const std::string* text : {&unit.module_path, &unit.go_version}) {
    if (has_control(*text)) return "the unit's module holds a control character";
  }
  return std::nullopt;
}

Refused bad_limits(const RunLimits& limits) {
  if (limits.cpu_millis < kCpuMillisMin) return "limits.cpus is too small or none";
  if (limits.memory_bytes < kMemoryMin) return "limits.memory is too small or none";
  if (limits.pids == 0) return "limits.pids is none";
  if (limits.tmp_bytes == 0) return "limits.tmp is none";
  if (limits.output_bytes == 0) return "limits.output is none";
  return std::nullopt;
}

Refused bad_custom(const CustomCheck& custom) {
  const bool named = !custom.name.empty() && custom.name.size() <= 32 &&
                     std::ranges::all_of(custom.name, [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
                     });
  if (!named) return "the check's name " + shown(custom.name) + " is none";
  if (custom.command.empty() || custom.command.front().empty())
    return "check " + custom.name + " has no command";
  return bad_word("the command", custom.command.front());
}

Refused bad_image(std::string_view image) {
  if (image.size() <= 600 && only(image, ".:/@_-") && !image.starts_with('-')) return std::nullopt;
  return "the image " + shown(image) + " is no version and no identity";
}

Refused bad_settings(const ValidationSettings& settings) {
  if (auto bad = bad_limits(settings.limits)) return bad;
  if (settings.packages.size() > kPatternsMax || settings.tags.size() > kPatternsMax)
    return "there are too many package patterns or tags";
  for (const std::string& pattern : settings.packages) {
    if (auto bad = bad_word("the package pattern", pattern)) return bad;
    if (pattern.empty() || !only(pattern, "._~-/+"))
      return "the package pattern " + shown(pattern) + " is none";
  }
  for (const std::string& tag : settings.tags) {
    if (tag.empty() || !only(tag, "._")) return "the build tag " + shown(tag) + " is none";
  }
  for (const std::string* text :
       {&settings.test.run, &settings.test.skip, &settings.test.shuffle}) {
    if (has_control(*text)) return "a test pattern holds a control character";
  }
  if (settings.custom.size() > kPatternsMax) return "there are too many checks";
  for (const CustomCheck& custom : settings.custom) {
    if (auto bad = bad_custom(custom)) return bad;
  }
  for (const std::string* patterns : {&settings.go_private, &settings.go_nosumdb}) {
    if (!only(*patterns, "._~-/*?,[]+"))
      return "the module patterns " + shown(*patterns) + " are none";
  }
  return bad_image(settings.image);
}

struct WorkPolicy {
  TaskKind kind;

  [[nodiscard]] Refused wrong_kind(TaskKind wanted) const {
    if (kind == wanted) return std::nullopt;
    return "work of another kind than the task's " + std::string(name(kind));
  }
  Refused operator()(const AcquireSource& work) const {
    if (auto bad = wrong_kind(TaskKind::acquire)) return bad;
    if (auto bad = bad_word("the commit", work.pinned_commit)) return bad;
    for (const std::string& dir : work.subdirs) {
      if (auto bad = bad_path("the folder", dir)) return bad;
    }
    if (const auto* bundle = std::get_if<BundleSource>(&work.source)) {
      if (bundle->artifact.empty()) return "the bundle names no artifact";
      return bad_word("the commit", bundle->commit);
    }
    if (const auto* git = std::get_if<GitSource>(&work.source))
      return bad_word("the ref", git->ref);
    return std::nullopt;
  }
  Refused operator()(const AcquireModules& work) const {
    if (auto bad = wrong_kind(TaskKind::acquire)) return bad;
    if (auto bad = bad_word("the commit", work.commit)) return bad;
    return bad_unit(work.unit);
  }
  Refused operator()(const Execute& work) const {
    if (auto bad = wrong_kind(TaskKind::execute)) return bad;
    if (auto bad = bad_word("the commit", work.commit)) return bad;
    if (auto bad = bad_image(work.image)) return bad;
    return bad_unit(work.unit);
  }
  Refused operator()(const Mutate& work) const {
    if (auto bad = wrong_kind(TaskKind::mutate)) return bad;
    if (auto bad = bad_word("the commit", work.commit)) return bad;
    for (const ModuleTarget& target : work.resolved) {
      if (auto bad = bad_word("the module", target.module)) return bad;
      if (auto bad = bad_word("the version", target.version)) return bad;
    }
    return bad_unit(work.unit);
  }
  Refused operator()(const BuildTool& work) const {
    if (auto bad = wrong_kind(TaskKind::tool)) return bad;
    return bad_image(work.image);
  }
  Refused operator()(const NoOp&) const { return std::nullopt; }
};

}  // namespace

std::optional<std::string> refuse_spec(const TaskSpec& spec) {
  if (auto bad = std::visit(WorkPolicy{spec.kind}, spec.work)) return bad;
  if (std::holds_alternative<NoOp>(spec.work)) return std::nullopt;
  return bad_settings(spec.settings);
}

}  // namespace cupel::worker
