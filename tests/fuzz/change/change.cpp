// What a campaign's author or the go command writes for a change: unified diffs, lists of modules,
// graphs, versions. The first byte chooses.
#include "worker/core/change/apply_patch.hpp"
#include "worker/core/change/assess_change.hpp"
#include "worker/core/change/change_words.hpp"
#include "worker/core/change/gomod_edit.hpp"
#include "worker/core/change/semver.hpp"
#include "worker/core/change/text_diff.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace cupel::worker::change;

void check(bool holds) {
  if (!holds) std::abort();
}

/// No path of an accepted patch leaves the tree, whatever the patch says.
void patches(std::string_view text) {
  const auto parsed = cupel::text::read_unified_diff(text);
  const auto* files = std::get_if<std::vector<cupel::text::FileDiff>>(&parsed);
  if (files == nullptr) return;
  for (const auto& file : *files) {
    for (const auto* path : {&file.old_path, &file.new_path}) {
      // A name may begin with two dots; a part of a path may not be just those.
      check(!path->starts_with('/'));
      check(("/" + *path + "/").find("/../") == std::string::npos);
      check(("/" + *path + "/").find("/.git/") == std::string::npos);
    }
  }
  static_cast<void>(apply_patch(
      *files, [](const std::string&) { return TreeFile{"1\n2\n3\n4\n", false, false}; }));
}

/// A diff of two texts, read again and applied, gives the second one.
void diffs(std::string_view text) {
  const auto half = text.size() / 2;
  const std::string before(text.substr(0, half));
  const std::string after(text.substr(half));
  if (before == after) return;
  TreeChange change;
  change["dir/f"] = FileChange{before, after, false, false};
  const auto diff = unified_diff(change);
  if (!diff) return;
  const auto parsed = cupel::text::read_unified_diff(*diff);
  const auto* files = std::get_if<std::vector<cupel::text::FileDiff>>(&parsed);
  check(files != nullptr);
  const auto applied =
      apply_patch(*files, [&](const std::string&) { return TreeFile{before, false, false}; });
  const auto* made = std::get_if<TreeChange>(&applied);
  check(made != nullptr && made->at("dir/f").after == after);
}

void versions(std::string_view text) {
  const auto half = text.size() / 2;
  const auto a = text.substr(0, half);
  const auto b = text.substr(half);
  check((compare_versions(a, b) < 0) == (compare_versions(b, a) > 0));
  static_cast<void>(is_pseudo_version(text));
  static_cast<void>(next_major_path(a, b));
  check((compare_go_versions(a, b) < 0) == (compare_go_versions(b, a) > 0));
}

void words(std::string_view text) {
  static_cast<void>(judge_get_failure(text, {{"a", "v1.0.0"}}));
  static_cast<void>(judge_tidy_failure(text, {"a"}));
  static_cast<void>(warnings_of(text));
  static_cast<void>(required_go(text));
}

void lists(std::string_view text) {
  const auto half = text.size() / 2;
  Applied applied;
  if (const auto modules = parse_module_list(text.substr(0, half))) {
    applied.after.modules = build_list(*modules);
  }
  if (auto graph = parse_module_graph(text.substr(half))) applied.graph = *std::move(graph);
  applied.before.mod = cupel::worker::parse_go_mod(text.substr(0, half));
  applied.after.mod = cupel::worker::parse_go_mod(text.substr(half));
  applied.after.sum = text;
  applied.targets = {{"a", "v1.0.0"}};
  static_cast<void>(assess_change(applied));
  static_cast<void>(with_go_version(text, "1.26"));
  static_cast<void>(with_replacement(text, "a", "./b", ""));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0: patches(text); break;
    case 1: diffs(text); break;
    case 2: versions(text); break;
    case 3: words(text); break;
    default: lists(text); break;
  }
  return 0;
}
