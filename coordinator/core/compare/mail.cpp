#include "coordinator/core/compare/mail.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>

namespace cupel::coordinator::compare {
namespace {

using nlohmann::json;

constexpr std::string_view kHead =
    "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n"
    "From: Cupel <cupel@localhost>\n";
/// Of a patch for content without a time: 2000-01-01.
constexpr std::int64_t kNoTimeUs = 946'684'800'000'000;
constexpr std::size_t kSubjectBytesMax = 200;
constexpr std::size_t kLineBytesMax = 400;
constexpr std::size_t kMovesShown = 30;

std::string one_line(std::string_view text, std::size_t bytes_max) {
  std::string out;
  for (const char c : text.substr(0, bytes_max)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7F ? ' ' : c;
  }
  while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xC0U) == 0x80U &&
         text.size() > bytes_max) {
    out.pop_back();
  }
  return out;
}

/// RFC 5322, in UTC: "Thu, 7 Apr 2005 22:13:13 +0000".
std::string mail_date(WallTime time) {
  constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  using namespace std::chrono;
  const sys_seconds at{duration_cast<seconds>(microseconds(time.us == 0 ? kNoTimeUs : time.us))};
  const sys_days day = floor<days>(at);
  const year_month_day date(day);
  const hh_mm_ss clock(at - day);
  std::array<char, 48> text{};
  (void)std::snprintf(text.data(), text.size(), "%s, %u %s %d %02d:%02d:%02d +0000",
                      kDays.at(weekday(day).c_encoding()), static_cast<unsigned>(date.day()),
                      kMonths.at(static_cast<unsigned>(date.month()) - 1),
                      static_cast<int>(date.year()), static_cast<int>(clock.hours().count()),
                      static_cast<int>(clock.minutes().count()),
                      static_cast<int>(clock.seconds().count()));
  return text.data();
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::size_t column = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    const std::size_t have = std::min<std::size_t>(3, bytes.size() - at);
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8U | (i < have ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      out += i <= have ? kLetters[group >> (18 - 6 * i) & 0x3FU] : '=';
    }
    column += 4;
    if (column == 76) {
      out += '\n';
      column = 0;
    }
  }
  if (column > 0) out += '\n';
  return out;
}

std::string text_in(const json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const json& at(const json& object, const char* key) {
  static const json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

std::string move_text(const json& move) {
  const std::string from = text_in(move, "from");
  const std::string to = text_in(move, "to");
  const std::string module = text_in(move, "module");
  if (from.empty()) return module + " " + to + " (new)";
  if (to.empty()) return module + " " + from + " (gone)";
  return module + " " + from + " -> " + to;
}

std::string subject_of(const json& change, const json& asked, const std::string& name) {
  std::vector<const json*> targets;
  for (const json& move : at(change, "moved")) {
    if (at(move, "target") == true) targets.push_back(&move);
  }
  if (!at(asked, "upgrade").is_null() && targets.size() == 1) {
    return "Upgrade " + text_in(*targets[0], "module") + " to " + text_in(*targets[0], "to");
  }
  if (!at(asked, "upgrade").is_null()) {
    const json& resolved = at(change, "resolved");
    if (resolved.size() == 1) {
      return "Upgrade " + text_in(resolved[0], "module") + " to " + text_in(resolved[0], "version");
    }
    return "Upgrade " + std::to_string(std::max(targets.size(), resolved.size())) + " modules";
  }
  if (!at(asked, "go").is_null()) return "Raise the go line to " + text_in(change, "go_after");
  if (!at(asked, "replace").is_null() && at(asked, "replace").size() == 1) {
    return "Replace " + text_in(at(asked, "replace")[0], "module");
  }
  return name.empty() ? "Apply the change" : "Apply " + name;
}

/// How often a side was run is no part of a mail: the same change of the same commit has the same
/// bytes, whether its unchanged side was sampled, repeated or taken over.
std::string side_text(const json& side) {
  return side.is_object() ? text_in(side, "outcome") : "not run";
}

}  // namespace

std::string patch_mail(const MailFacts& facts) {
  const bool carriage_returns = facts.diff.find('\r') != std::string::npos;
  std::string out(kHead);
  out += "Date: " + mail_date(facts.committed) + "\n";
  out += "Subject: [PATCH] " + one_line(facts.subject, kSubjectBytesMax) + "\n";
  out += "MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\n";
  out +=
      std::string("Content-Transfer-Encoding: ") + (carriage_returns ? "base64" : "8bit") + "\n\n";
  std::string content;
  for (const std::string& line : facts.body) {
    const std::string text = one_line(line, kLineBytesMax);
    // A line that begins like a diff or a separator would end the message.
    const bool risky = text.starts_with("---") || text.starts_with("diff ") ||
                       text.starts_with("Index: ") || text.starts_with("From ");
    content += (risky ? "  " : "") + text + "\n";
  }
  content += "---\n";
  content += facts.diff;
  if (!facts.diff.empty() && facts.diff.back() != '\n') content += '\n';
  content += "-- \ncupel\n";
  return out + (carriage_returns ? base64(content) : content);
}

MailFacts describe_patch(const json& unit, const json& document, std::string diff) {
  const json& comparison = at(unit, "comparison");
  const json& change = at(comparison, "change");
  MailFacts facts;
  facts.subject = subject_of(change, at(document, "change"), text_in(document, "name"));
  facts.diff = std::move(diff);
  facts.committed = parse_rfc3339(text_in(unit, "committed")).value_or(WallTime{});
  std::vector<std::string>& body = facts.body;
  if (const std::string why = text_in(document, "description"); !why.empty()) {
    body.push_back(why);
    body.emplace_back();
  }
  body.push_back("Verdict: " + text_in(unit, "verdict"));
  body.push_back("  before: " + side_text(at(comparison, "before")));
  body.push_back("  after:  " + side_text(at(comparison, "after")));
  const json& moved = at(change, "moved");
  if (!moved.empty()) {
    body.emplace_back();
    body.emplace_back("Modules that move:");
    for (std::size_t i = 0; i < moved.size() && i < kMovesShown; ++i) {
      body.push_back("  " + move_text(moved[i]));
    }
    if (moved.size() > kMovesShown) {
      body.push_back("  and " + std::to_string(moved.size() - kMovesShown) + " more");
    }
  }
  const json& resolved = at(at(comparison, "scan"), "resolved");
  for (std::size_t i = 0; i < resolved.size() && i < kMovesShown; ++i) {
    body.push_back("Resolves: " + text_in(resolved[i], "osv") + " in " +
                   text_in(resolved[i], "module") + " " + text_in(resolved[i], "found_version"));
  }
  if (text_in(change, "go_before") != text_in(change, "go_after")) {
    body.push_back("Go line: " + text_in(change, "go_before") + " -> " +
                   text_in(change, "go_after"));
  }
  body.emplace_back();
  body.push_back("Repository: " + text_in(unit, "repository"));
  body.push_back("Commit: " + text_in(unit, "commit"));
  body.push_back("Tree: " + text_in(unit, "tree"));
  body.push_back("Module: " + text_in(unit, "module") + " in " + text_in(unit, "dir"));
  const json& conditions = at(at(comparison, "after"), "conditions");
  body.push_back("Image: " + text_in(conditions, "image") + " (" +
                 text_in(conditions, "go_version") + ")");
  for (const json& check : at(unit, "checks")) {
    std::string line = "Check: ";
    for (const json& word : at(check, "command")) {
      if (word.is_string()) line += word.get<std::string>() + " ";
    }
    body.push_back(line + "-> " + text_in(check, "outcome"));
  }
  return facts;
}

std::string patch_file_name(std::size_t number, std::string_view repository, std::string_view dir) {
  std::string digits = std::to_string(number);
  digits.insert(0, digits.size() < 4 ? 4 - digits.size() : 0, '0');
  std::string slug;
  const auto add = [&slug](std::string_view text) {
    for (const char c : text) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '.' || c == '_';
      if (plain) {
        slug += c;
      } else if (!slug.empty() && slug.back() != '-') {
        slug += '-';
      }
    }
  };
  const std::size_t scheme = repository.find("://");
  add(scheme == std::string_view::npos ? repository : repository.substr(scheme + 3));
  if (!dir.empty() && dir != ".") {
    slug += '-';
    add(dir);
  }
  while (!slug.empty() && (slug.back() == '-' || slug.back() == '.')) slug.pop_back();
  const std::size_t begin = slug.find_first_not_of(".-");
  slug = begin == std::string::npos ? "unit" : slug.substr(begin);
  return digits + "-" + slug.substr(0, 100) + ".patch";
}

}  // namespace cupel::coordinator::compare
