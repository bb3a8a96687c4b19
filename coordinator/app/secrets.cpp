#include "coordinator/app/secrets.hpp"

#include "common/core/time.hpp"
#include "common/fs/files.hpp"

#include <array>
#include <chrono>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace cupel::coordinator {
namespace {

constexpr std::uint64_t kTokenFileBytesMax = 64 * 1024;
constexpr std::size_t kTokenCharsMin = 16;
constexpr std::array kScopes = {std::string_view("read"), std::string_view("submit"),
                                std::string_view("operate")};

bool is_scope(std::string_view word) {
  for (const std::string_view scope : kScopes) {
    if (scope == word) return true;
  }
  return false;
}

Error bad_line(const std::string& file, int line, const std::string& what) {
  return {.code = Errc::bad_config,
          .what = file + ":" + std::to_string(line) + ": " + what,
          .detail = {},
          .hint = "a line is: TOKEN [NAME [SCOPE,SCOPE]]"};
}

}  // namespace

Result<net::KeyPair> load_or_make_key(const std::filesystem::path& file, bool make) {
  std::error_code ec;
  if (make && !std::filesystem::exists(file, ec)) {
    const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    auto written =
        net::write_key_file(file, net::generate_key_pair(), "made " + to_rfc3339({now.count()}));
    if (!written) return written.error();
  }
  return net::read_key_file(file);
}

Result<cupel::http::TokenTable> load_or_make_tokens(const std::filesystem::path& file) {
  std::error_code ec;
  if (!std::filesystem::exists(file, ec)) {
    const auto made = cupel::fs::create_file_durably(file, cupel::fs::random_hex(24) + "\n", 0600);
    if (!made) return made.error();
  }
  const auto text = cupel::fs::read_secret(file, kTokenFileBytesMax);
  if (!text) return text.error();
  return parse_tokens(*text, file.string());
}

Result<cupel::http::TokenTable> parse_tokens(std::string_view text, const std::string& file_name) {
  cupel::http::TokenTable table;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string token;
    std::string name = "local";
    std::string scopes;
    if (!(words >> token) || token.front() == '#') continue;
    words >> name >> scopes;
    if (token.size() < kTokenCharsMin)
      return bad_line(file_name, number, "a token has at least 16 characters");
    cupel::http::Principal principal{name, {}};
    std::istringstream list(scopes.empty() ? "read,submit,operate" : scopes);
    for (std::string scope; std::getline(list, scope, ',');) {
      if (!is_scope(scope)) return bad_line(file_name, number, "'" + scope + "' is no scope");
      principal.scopes.push_back(scope);
    }
    table.add(token, std::move(principal));
  }
  if (table.empty()) {
    return Error{.code = Errc::bad_config,
                 .what = "the token file " + file_name + " has no token",
                 .detail = {},
                 .hint = "remove it: a new one is made at the next start"};
  }
  return table;
}

}  // namespace cupel::coordinator
