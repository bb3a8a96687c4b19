#include "tests/tidy/rules.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>

namespace cupel::tidy {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string at(const SourceFile& file, std::size_t line_index, const std::string& what) {
  return file.path + ":" + std::to_string(line_index + 1) + ": " + what;
}

std::string module_of(const std::string& path) {
  return path.substr(0, path.find('/'));
}

/// What stands between the quotes or brackets of an #include line.
std::string included(const std::string& line) {
  static const std::regex kInclude(R"re(^\s*#\s*include\s+["<]([^">]+)[">])re");
  std::smatch found;
  return std::regex_search(line, found, kInclude) ? found[1].str() : std::string{};
}

/// The code of a line, without a comment at its end.
std::string code_of(const std::string& line) {
  return line.substr(0, line.find("//"));
}

const std::map<std::string, std::set<std::string>>& may_use() {
  static const std::map<std::string, std::set<std::string>> kMayUse = {
      {"schema", {"schema"}},
      {"common", {"schema", "common"}},
      {"coordinator", {"schema", "common", "coordinator"}},
      {"worker", {"schema", "common", "worker"}},
      {"cli", {"schema", "common", "cli"}},
  };
  return kMayUse;
}

}  // namespace

Complaints check_arrows(const SourceFile& file) {
  Complaints complaints;
  const auto allowed = may_use().find(module_of(file.path));
  if (allowed == may_use().end()) return complaints;
  const auto lines = lines_of(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string target = included(lines[i]);
    const std::string module = module_of(target);
    const bool ours = may_use().contains(module) && target.find('/') != std::string::npos;
    if (ours && !allowed->second.contains(module)) {
      complaints.push_back(at(file, i, allowed->first + " may not include " + target));
    }
    if (module == "tests") complaints.push_back(at(file, i, "the product includes a test's file"));
  }
  return complaints;
}

Complaints check_purity(const SourceFile& file) {
  static const std::regex kIoHeader(
      "^(boost/asio|boost/beast|zmq|soci|libpq|sqlite3|git2|spdlog|prometheus|archive|curl/"
      "|systemd/|seccomp"
      "|thread$|"
      "mutex$|condition_variable$|future$|random$|fstream$|sys/socket|sys/"
      "stat|unistd\\.h|fcntl\\.h)");
  static const std::regex kCall(
      R"re((::now\(\)|random_device|std::thread|std::jthread|this_thread|std::async|\bgetenv\(|\bsystem\())re");
  Complaints complaints;
  const auto lines = lines_of(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (std::regex_search(included(lines[i]), kIoHeader)) {
      complaints.push_back(at(file, i, "core is pure, but includes " + included(lines[i])));
    }
    std::smatch found;
    const std::string code = code_of(lines[i]);
    if (std::regex_search(code, found, kCall)) {
      complaints.push_back(at(file, i, "core is pure, found: " + found[0].str()));
    }
  }
  return complaints;
}

Complaints check_bans(const SourceFile& file) {
  // In pieces, so that this file does not break its own rule.
  static const std::array kWords = {
      std::string("proxy.") + "golang.org",
      std::string("sum.") + "golang.org",
      std::string("registry-1.") + "docker.io",
      std::string("index.") + "docker.io",
      std::string("gh") + "cr.io",
      std::string("quay") + ".io",
      std::string("gcr") + ".io",
      std::string("deb.") + "debian.org",
      std::string("/work") + "/h/",
      std::string("/work") + "/shared",
      std::string("/work") + "/hub",
  };
  Complaints complaints;
  const bool test = file.path.starts_with("tests/");
  const auto lines = lines_of(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const std::string& word : kWords) {
      if (lines[i].find(word) != std::string::npos)
        complaints.push_back(at(file, i, "may not name " + word));
    }
    if (!test && code_of(lines[i]).find("asio::detached") != std::string::npos) {
      complaints.push_back(
          at(file, i, "a detached coroutine drops its exceptions; give it an owner"));
    }
  }
  return complaints;
}

Complaints check_crash_points(const SourceFile& file) {
  const std::string module = module_of(file.path);
  if (module != "common" && module != "coordinator" && module != "worker") return {};
  static const std::regex kRename(R"re(::rename(at2?)?\()re");
  constexpr std::size_t kLinesBefore = 3;
  Complaints complaints;
  const auto lines = lines_of(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!std::regex_search(code_of(lines[i]), kRename)) continue;
    bool found = false;
    for (std::size_t back = 1; back <= kLinesBefore && back <= i; ++back)
      found = found || lines[i - back].find("CUPEL_CRASH_POINT(") != std::string::npos;
    if (!found) complaints.push_back(at(file, i, "a rename without a crash point before it"));
  }
  return complaints;
}

Complaints check_own_header_first(const SourceFile& file, const std::set<std::string>& headers) {
  if (!file.path.ends_with(".cpp")) return {};
  const std::string own = file.path.substr(0, file.path.size() - 4) + ".hpp";
  if (!headers.contains(own)) return {};
  const auto lines = lines_of(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string target = included(lines[i]);
    // The fix for operators of the wire library has to come before any header of that library.
    if (target.empty() || target == "common/wire/kj_compare.hpp") continue;
    if (target == own) return {};
    return {at(file, i, "includes " + target + " before its own header")};
  }
  return {file.path + ":1: does not include its own header"};
}

Complaints check_length(const SourceFile& file, std::size_t lines_max) {
  const auto lines = static_cast<std::size_t>(std::ranges::count(file.text, '\n'));
  if (lines <= lines_max) return {};
  return {file.path + ":1: " + std::to_string(lines) + " lines, over " + std::to_string(lines_max)};
}

bool declares_core(std::string_view cmake_text) {
  return cmake_text.find("LAYER core") != std::string_view::npos;
}

std::set<std::string> declared_tests(const SourceFile& file) {
  static const std::regex kCpp(R"re(^TEST(?:_F|_P)?\((\w+),\s*(\w+)\))re");
  static const std::regex kPython(R"re(^\s*def (test_\w+)\()re");
  std::set<std::string> found;
  for (const std::string& line : lines_of(file.text)) {
    std::smatch match;
    if (std::regex_search(line, match, kCpp)) found.insert(match[1].str() + "." + match[2].str());
    if (std::regex_search(line, match, kPython)) found.insert(match[1].str());
  }
  return found;
}

Complaints check_named_tests(const SourceFile& document, const std::set<std::string>& declared) {
  static const std::regex kQuoted("`([^`]+)`");
  Complaints complaints;
  const auto lines = lines_of(document.text);
  bool in_table = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (!line.starts_with('|')) {
      in_table = false;
    } else if (line.ends_with("| test |")) {
      in_table = true;
    } else if (in_table && !line.starts_with("|---")) {
      const std::size_t end = line.rfind('|');
      const std::string cell = line.substr(line.rfind('|', end - 1), end);
      const std::sregex_iterator names(cell.begin(), cell.end(), kQuoted);
      if (names == std::sregex_iterator()) complaints.push_back(at(document, i, "names no test"));
      for (auto name = names; name != std::sregex_iterator(); ++name) {
        if (!declared.contains((*name)[1].str()))
          complaints.push_back(at(document, i, "no such test: " + (*name)[1].str()));
      }
    }
  }
  return complaints;
}

std::set<std::string> declared_metrics(const SourceFile& file) {
  static const std::regex kLiteral("\"(cupel_[a-z_]+)\"");
  std::set<std::string> found;
  const std::sregex_iterator names(file.text.begin(), file.text.end(), kLiteral);
  for (auto name = names; name != std::sregex_iterator(); ++name) found.insert((*name)[1].str());
  return found;
}

Complaints check_named_metrics(const SourceFile& document, const std::set<std::string>& declared) {
  static const std::regex kNamed("`(cupel_[a-z_]+)(\\*?)");
  Complaints complaints;
  const auto lines = lines_of(document.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::sregex_iterator names(lines[i].begin(), lines[i].end(), kNamed);
    for (auto name = names; name != std::sregex_iterator(); ++name) {
      const std::string metric = (*name)[1].str();
      const auto first = declared.lower_bound(metric);
      const bool begins = first != declared.end() && first->starts_with(metric);
      const bool known = (*name)[2].length() > 0 ? begins : declared.contains(metric);
      if (!known) complaints.push_back(at(document, i, "no such metric: " + metric));
    }
  }
  return complaints;
}

}  // namespace cupel::tidy
