/// go.mod, go.work and go.sum as far as Cupel decides by them before a Go command runs. Pure.
///
/// The go command is the judge of everything else: what is merely unusual is kept and left to it.
/// Where this parser refuses, it says what the go command says, with file and line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker {

struct ModPlace {
  std::int32_t line = 0;    ///< 1-based.
  std::int32_t column = 0;  ///< 1-based, in bytes.
};

/// What keeps a manifest from being read. `text` without file and line.
struct ModFault {
  ModPlace place;
  std::string text;
};

struct Requirement {
  std::string path;
  std::string version;
  bool indirect = false;
  ModPlace place;
};

struct Replacement {
  std::string path;
  std::string version;  ///< Empty: all versions.
  std::string target;   ///< Module path, or a directory ("./x", "../x", "/x").
  std::string target_version;
  ModPlace place;
  /// By the go command's rule: begins with "./", "../" or "/" or a drive letter, or is "." or "..".
  [[nodiscard]] bool is_directory() const;
};

struct UseDirective {
  std::string dir;
  ModPlace place;
};

/// Both files share one syntax; go.work has no module and no requirements, go.mod no use.
struct ModFile {
  std::string module_path;
  std::optional<std::string> go_version;  ///< As written, such as "1.21rc2".
  std::string toolchain;
  std::vector<Requirement> requirements;
  std::vector<Replacement> replacements;
  std::vector<UseDirective> uses;
  std::vector<std::string> godebugs;  ///< "key=value", unjudged.
  std::vector<std::string> tools;
  std::vector<std::string> ignores;
  std::vector<std::string> excludes;  ///< "path version".
  std::vector<std::string> retracts;  ///< "v1.0.0" or "[v1.0.0,v1.1.0]", unjudged.
  std::vector<ModFault> faults;  ///< Empty = readable.
};

inline constexpr std::size_t kManifestBytesMax = 8 * 1024 * 1024;

[[nodiscard]] ModFile parse_go_mod(std::string_view text);
[[nodiscard]] ModFile parse_go_work(std::string_view text);

/// The first malformed line of a go.sum (three fields: module, version, "h1:..."); nothing when it
/// is fine.
[[nodiscard]] std::optional<ModFault> check_go_sum(std::string_view text);

/// What the go command accepts in a go line: "1.21", "1.21rc2", "1.21.0".
[[nodiscard]] bool is_go_version(std::string_view text);

/// `go 1.16` as the last line but for the module's: what acquire writes where there is no go line.
/// The rest of the text stays byte for byte.
[[nodiscard]] std::string with_go_line(std::string_view go_mod, std::string_view version);

/// The go.work with every directory made absolute: `work_dir` is where the file stands, as the
/// container sees it ("/src", "/src/x"). Comments and order are not kept; only for a file without
/// faults.
[[nodiscard]] std::string absolute_go_work(const ModFile& work, std::string_view work_dir);

}  // namespace cupel::worker
