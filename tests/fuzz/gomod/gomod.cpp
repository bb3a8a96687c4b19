// Everything of a repository that is parsed before a Go command runs: manifests, git's
// configuration and objects, and the words of the go command. The first byte chooses.
#include "worker/core/source/gomod.hpp"

#include "common/gitfmt/config.hpp"
#include "common/gitfmt/object.hpp"
#include "worker/core/source/admission.hpp"
#include "worker/core/source/go_words.hpp"
#include "worker/core/source/units.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

using namespace cupel;

void check(bool holds) {
  if (!holds) std::abort();
}

void manifests(std::string_view text) {
  const auto mod = worker::parse_go_mod(text);
  const auto work = worker::parse_go_work(text);
  // What is written for the staged copy must be readable again.
  if (work.faults.empty() && text.find('\n', 0) != std::string_view::npos) {
    static_cast<void>(worker::parse_go_work(worker::absolute_go_work(work, "/src")));
  }
  if (mod.faults.empty() && !mod.go_version && !mod.module_path.empty()) {
    check(worker::parse_go_mod(worker::with_go_line(text, "1.16")).go_version == "1.16");
  }
  static_cast<void>(worker::check_go_sum(text));
}

void objects(std::string_view bytes) {
  if (const auto tree = gitfmt::parse_tree(bytes)) {
    const auto again = gitfmt::parse_tree(gitfmt::format_tree(*tree));
    check(again && again->size() == tree->size());
    std::vector<gitfmt::TreeEntry> entries;
    for (const auto& raw : *tree) entries.push_back({raw.name, raw.mode, raw.id, 1});
    static_cast<void>(worker::admit(entries, {}));
  }
  static_cast<void>(gitfmt::commit_tree(bytes));
  static_cast<void>(gitfmt::commit_time(bytes));
  static_cast<void>(gitfmt::tag_target(bytes));
}

void units(std::string_view text) {
  worker::SourceView view;
  view.entries = {{"go.mod", gitfmt::kModeFile, {}, 1}, {"go.work", gitfmt::kModeFile, {}, 1}};
  const auto half = text.size() / 2;
  view.manifests = {{"go.mod", std::string(text.substr(0, half))},
                    {"go.work", std::string(text.substr(half))}};
  static_cast<void>(worker::discover_units(view, {}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0: manifests(text); break;
    case 1: objects(text); break;
    case 2: units(text); break;
    case 3:
      if (const auto entries = gitfmt::parse_config(text)) {
        for (const auto& entry : *entries) static_cast<void>(gitfmt::can_execute(entry));
      }
      static_cast<void>(worker::judge_gitmodules(text));
      break;
    default:
      if (const auto modules = worker::parse_download_json(text)) {
        static_cast<void>(worker::judge_go_failure(text, *modules));
      }
      check(!worker::judge_go_failure(text, {}).findings.empty());
      break;
  }
  return 0;
}
