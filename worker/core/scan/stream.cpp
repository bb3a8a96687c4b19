#include "worker/core/scan/stream.hpp"

#include "worker/core/change/semver.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace cupel::worker::scan {
namespace {

using nlohmann::json;

constexpr std::string_view kChecking = "Checking the code";
constexpr std::size_t kSummaryCharacters = 200;
constexpr std::size_t kIdCharacters = 64;
constexpr std::size_t kNameBytes = 1024;
constexpr std::size_t kFramesMax = 100'000;

/// Why a stream is not to be believed. Thrown inside this file only: every reader is a plain
/// expression that way, and no half-read stream can go on.
struct Refused {
  std::string why;
};

[[noreturn]] void refuse(std::string why) {
  throw Refused{std::move(why)};
}

/// The next top-level object of concatenated JSON; empty at the end.
class Objects {
 public:
  explicit Objects(std::string_view text) : text_(text) {}

  std::string_view next() {
    const std::size_t begin = text_.find_first_not_of(" \t\r\n", at_);
    if (begin == std::string_view::npos) return {};
    if (text_[begin] != '{') refuse("the stream holds something that is no JSON object");
    int depth = 0;
    bool in_string = false;
    for (std::size_t i = begin; i < text_.size(); ++i) {
      const char c = text_[i];
      if (i - begin >= kMessageBytesMax) refuse("a message is too large");
      if (in_string) {
        if (c == '\\') {
          ++i;
        } else if (c == '"') {
          in_string = false;
        }
      } else if (c == '"') {
        in_string = true;
      } else if (c == '{' || c == '[') {
        if (++depth > kNestingMax) refuse("a message is nested too deeply");
      } else if (c == '}' || c == ']') {
        if (--depth == 0) {
          at_ = i + 1;
          return text_.substr(begin, at_ - begin);
        }
      }
    }
    refuse("the stream ends inside a message");
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

/// A member that must be text where it is there.
std::string text_of(const json& object, const char* member) {
  const auto found = object.find(member);
  if (found == object.end() || found->is_null()) return {};
  if (!found->is_string()) refuse(std::string(member) + " is no text");
  auto text = found->get<std::string>();
  if (text.size() > kNameBytes && std::string_view(member) != "summary") {
    refuse(std::string(member) + " is too long");
  }
  return text;
}

std::string needed_text(const json& object, const char* member, const char* of) {
  std::string text = text_of(object, member);
  if (text.empty()) refuse(std::string(of) + " has no " + member);
  return text;
}

const json& needed_list(const json& object, const char* member, const char* of) {
  const auto found = object.find(member);
  if (found == object.end() || !found->is_array()) {
    refuse(std::string(of) + " has no list of " + member);
  }
  return *found;
}

void must_equal(const std::string& is, const std::string& expected, const char* what) {
  if (is == expected) return;
  refuse(std::string(what) + " is '" + one_line(is, 100) + "', not '" + expected + "'");
}

struct Advisory {
  std::string summary;
  bool withdrawn = false;
};

/// What is known of one advisory in one module so far.
struct Found {
  Vulnerability best;
  std::size_t frames = 0;
};

class Reader {
 public:
  explicit Reader(const Expected& expected) : expected_(expected) {}

  StreamReport read(std::string_view text) {
    Objects objects(text);
    std::size_t count = 0;
    for (std::string_view object = objects.next(); !object.empty(); object = objects.next()) {
      if (++count > kMessagesMax) refuse("the stream holds too many messages");
      message(object);
    }
    if (!config_) refuse("the stream is empty");
    if (!sbom_) refuse("the scanner never said which modules it read");
    if (!checked_) refuse("the scanner ended before it checked the code");
    return finish();
  }

 private:
  void message(std::string_view text) {
    const json object = json::parse(text, nullptr, false);
    if (!object.is_object()) refuse("a message is malformed");
    if (object.size() != 1) refuse("a message does not have exactly one key");
    const std::string& kind = object.begin().key();
    const json& body = object.begin().value();
    if (!body.is_object()) refuse("the body of message " + one_line(kind, 40) + " is no object");
    if (!config_ && kind != "config") refuse("the first message is not the configuration");
    if (kind == "config") return config(body);
    if (kind == "SBOM") return sbom(body);
    if (kind == "progress") return progress(body);
    if (kind == "osv") return osv(body);
    if (kind == "finding") return finding(body);
    refuse("a message of the unknown kind '" + one_line(kind, 40) + "'");
  }

  void config(const json& body) {
    if (std::exchange(config_, true)) refuse("a second configuration");
    if (!needed_text(body, "protocol_version", "the configuration").starts_with("v1.")) {
      refuse("the protocol is not v1");
    }
    must_equal(text_of(body, "scanner_name"), "govulncheck", "the scanner");
    must_equal(text_of(body, "scanner_version"), expected_.scanner_version,
               "the scanner's version");
    must_equal(text_of(body, "scan_mode"), "source", "the mode");
    must_equal(text_of(body, "scan_level"), "symbol", "the level");
    must_equal(text_of(body, "db"), expected_.database_url, "the database");
    must_equal(needed_text(body, "db_last_modified", "the configuration"), expected_.database_time,
               "the database's time");
    must_equal(needed_text(body, "go_version", "the configuration"), expected_.go_version,
               "the Go version");
  }

  void sbom(const json& body) {
    if (std::exchange(sbom_, true)) refuse("a second list of modules");
    must_equal(text_of(body, "go_version"), expected_.go_version, "the modules' Go version");
    for (const json& module : needed_list(body, "modules", "the list of modules")) {
      if (!module.is_object()) refuse("a module is no object");
      ScannedModule one{needed_text(module, "path", "a module"), text_of(module, "version")};
      // A module that a folder replaces comes twice, both times by the folder.
      const auto [known, fresh] = versions_.emplace(one.path, one.version);
      if (known->second != one.version) refuse("a module is listed in two versions");
      if (fresh) report_.modules.push_back(std::move(one));
    }
    const json& roots = needed_list(body, "roots", "the list of modules");
    if (roots.empty()) refuse("no package was scanned");
  }

  void progress(const json& body) {
    if (text_of(body, "message").starts_with(kChecking)) checked_ = true;
  }

  void osv(const json& body) {
    const std::string id = needed_text(body, "id", "an advisory");
    if (id.size() > kIdCharacters) refuse("an advisory's id is too long");
    advisories_[id] = {one_line(text_of(body, "summary"), kSummaryCharacters),
                       !text_of(body, "withdrawn").empty()};
  }

  void finding(const json& body) {
    Vulnerability one;
    one.osv = needed_text(body, "osv", "a finding");
    const auto advisory = advisories_.find(one.osv);
    if (advisory == advisories_.end()) refuse("a finding before its advisory");
    one.fixed_version = text_of(body, "fixed_version");
    if (!one.fixed_version.empty() && !change::parse_version(one.fixed_version)) {
      refuse("the fixed version '" + one_line(one.fixed_version, 60) + "' is no version");
    }
    const json& trace = needed_list(body, "trace", "a finding");
    if (trace.empty() || trace.size() > kFramesMax) refuse("a finding without a usable trace");
    for (const json& frame : trace) {
      if (!frame.is_object()) refuse("a frame is no object");
      (void)needed_text(frame, "module", "a frame");
    }
    place(one, trace.front());
    if (one.level != VulnLevel::symbol && trace.size() != 1) {
      refuse("a finding without a symbol has more than one frame");
    }
    if (one.level == VulnLevel::symbol && trace.size() < 2) {
      refuse("a finding with a symbol says not from where it is reached");
    }
    one.summary = advisory->second.summary;
    keep(std::move(one), trace.size());
  }

  void place(Vulnerability& one, const json& frame) {
    one.module = text_of(frame, "module");
    one.found_version = text_of(frame, "version");
    one.package = text_of(frame, "package");
    const std::string function = text_of(frame, "function");
    std::string receiver = text_of(frame, "receiver");
    if (!function.empty() && one.package.empty()) refuse("a function without its package");
    if (!receiver.empty() && receiver.front() == '*') receiver.erase(0, 1);
    one.symbol = receiver.empty() ? function : receiver + "." + function;
    one.level = !function.empty()      ? VulnLevel::symbol
                : !one.package.empty() ? VulnLevel::package
                                       : VulnLevel::module;
    const auto module = versions_.find(one.module);
    if (module == versions_.end()) refuse("a finding in a module that is not listed");
    if (module->second != one.found_version) {
      refuse("a finding in another version of " + one_line(one.module, 100) + " than is listed");
    }
  }

  /// The most precise level, then the shortest way there, then the first by name: the order of the
  /// stream is not stable.
  void keep(Vulnerability one, std::size_t frames) {
    const auto [at, fresh] = found_.try_emplace({one.module, one.osv}, Found{one, frames});
    if (fresh) {
      if (found_.size() > kVulnerabilitiesMax) refuse("more advisories than can be kept");
      return;
    }
    Found& known = at->second;
    if (known.best.fixed_version != one.fixed_version) {
      refuse("findings of " + one.osv + " disagree on the fixed version");
    }
    const auto rank = [](const Vulnerability& v, std::size_t length) {
      return std::tuple(-static_cast<int>(v.level), length, std::string_view(v.package),
                        std::string_view(v.symbol));
    };
    if (rank(one, frames) < rank(known.best, known.frames)) known = {std::move(one), frames};
  }

  StreamReport finish() {
    for (auto& [key, found] : found_) {
      auto& list =
          advisories_.at(key.second).withdrawn ? report_.withdrawn : report_.facts.vulnerabilities;
      list.push_back(std::move(found.best));
    }
    report_.facts.scanner_version = expected_.scanner_version;
    report_.facts.database_time = expected_.database_time;
    report_.facts.go_version = expected_.go_version;
    return std::move(report_);
  }

  const Expected& expected_;
  bool config_ = false;
  bool sbom_ = false;
  bool checked_ = false;
  std::map<std::string, std::string> versions_;
  std::map<std::string, Advisory> advisories_;
  std::map<std::pair<std::string, std::string>, Found> found_;  // module, osv
  StreamReport report_;
};

}  // namespace

StreamReport read_stream(std::string_view text, const Expected& expected) {
  try {
    return Reader(expected).read(text);
  } catch (const Refused& refused) {
    StreamReport report;
    report.problem = refused.why;
    return report;
  }
}

std::string one_line(std::string_view text, std::size_t characters_max) {
  std::string out;
  std::size_t characters = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool begins = (byte & 0xC0U) != 0x80U;
    if (begins && ++characters > characters_max) break;
    out += byte < 0x20 || byte == 0x7F ? ' ' : c;
  }
  return out;
}

}  // namespace cupel::worker::scan
