#include "worker/core/egress/credentials.hpp"

#include <sodium.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace cupel::worker::egress {

namespace {

std::string percent_decoded(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    out += escape ? static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])) : text[i];
    if (escape) i += 2;
  }
  return out;
}

/// Words of a netrc without its macros, which end at an empty line, and without comments.
std::vector<std::string> words_of(std::string_view netrc) {
  std::vector<std::string> words;
  bool macro = false;
  while (!netrc.empty()) {
    const std::size_t end = std::min(netrc.find('\n'), netrc.size());
    std::string_view line = netrc.substr(0, end);
    netrc.remove_prefix(std::min(end + 1, netrc.size()));
    const bool blank = line.find_first_not_of(" \t\r") == std::string_view::npos;
    macro = macro && !blank;
    while (!macro) {
      const std::size_t from = line.find_first_not_of(" \t\r");
      if (from == std::string_view::npos || line[from] == '#') break;
      const std::size_t to = std::min(line.find_first_of(" \t\r", from), line.size());
      words.emplace_back(line.substr(from, to - from));
      line.remove_prefix(to);
      macro = words.back() == "macdef";
    }
  }
  return words;
}

struct Login {
  std::string user;
  std::string password;
};

}  // namespace

std::string basic_authorization(const std::string& user, const std::string& password) {
  const std::string text = user + ":" + password;
  std::string encoded(sodium_base64_ENCODED_LEN(text.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  ::sodium_bin2base64(encoded.data(), encoded.size(),
                      reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                      sodium_base64_VARIANT_ORIGINAL);
  encoded.resize(encoded.find('\0'));
  return "Basic " + encoded;
}

std::string authorization_of_userinfo(std::string_view userinfo) {
  const std::size_t colon = std::min(userinfo.find(':'), userinfo.size());
  const std::string_view password =
      colon < userinfo.size() ? userinfo.substr(colon + 1) : std::string_view();
  return basic_authorization(percent_decoded(userinfo.substr(0, colon)), percent_decoded(password));
}

std::string authorization_of_netrc(std::string_view netrc, std::string_view host) {
  const std::vector<std::string> words = words_of(netrc);
  std::optional<Login> machine;
  std::optional<Login> fallback;
  Login* open = nullptr;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string next = i + 1 < words.size() ? words[i + 1] : std::string();
    if (words[i] == "machine") {
      open = next == host && !machine ? &machine.emplace() : nullptr;
      ++i;
    } else if (words[i] == "default") {
      open = fallback ? nullptr : &fallback.emplace();
    } else if (words[i] == "login" || words[i] == "password") {
      if (open != nullptr) (words[i] == "login" ? open->user : open->password) = next;
      ++i;
    } else if (words[i] == "account") {
      ++i;
    }
  }
  const Login login = machine.value_or(fallback.value_or(Login{}));
  return login.user.empty() ? std::string() : basic_authorization(login.user, login.password);
}

}  // namespace cupel::worker::egress
