/// Git repositories made by a test with the git command, away from any configuration of the user.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cupel::tests {

inline void write_text(const std::filesystem::path& file, std::string_view text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

inline std::string read_text(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

inline std::string take_text(const std::filesystem::path& file) {
  std::string text = read_text(file);
  std::filesystem::remove(file);
  return text;
}

/// Runs a line of shell in a folder; its exit code must be 0.
inline void shell(const std::filesystem::path& folder, const std::string& line) {
  const std::string full =
      "cd '" + folder.string() +
      "' && env -i PATH=/usr/bin:/bin HOME=/nonexistent LC_ALL=C GIT_CONFIG_GLOBAL=/dev/null"
      " GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=fixture GIT_AUTHOR_EMAIL=fixture@ex.test"
      " GIT_COMMITTER_NAME=fixture GIT_COMMITTER_EMAIL=fixture@ex.test"
      " GIT_AUTHOR_DATE='2024-01-01T00:00:00Z' GIT_COMMITTER_DATE='2024-01-01T00:00:00Z'"
      " FOLDER='" +
      folder.string() + "' bash -euc \"$CUPEL_TEST_LINE\" >/dev/null 2>'" + folder.string() +
      ".stderr'";
  ::setenv("CUPEL_TEST_LINE", line.c_str(), 1);
  const bool done = std::system(full.c_str()) == 0;
  const std::string said = take_text(folder.string() + ".stderr");
  if (!done) throw std::runtime_error(line + ": " + said);
}

/// What a line of shell prints, without the last line end.
inline std::string shell_output(const std::filesystem::path& folder, const std::string& line) {
  shell(folder, "{ " + line + "; } > '" + folder.string() + ".out'");
  std::string text = take_text(folder.string() + ".out");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

/// A work tree with one commit that holds a small module.
inline void make_repository(const std::filesystem::path& folder, const std::string& extra = ":") {
  std::filesystem::create_directories(folder);
  write_text(folder / "go.mod", "module ex.test/r\n\ngo 1.24\n");
  write_text(folder / "ok" / "ok.go", "package ok\n");
  shell(folder, "git init -q -b main; " + extra + "; git add -A; git commit -q -m c1");
}

}  // namespace cupel::tests
