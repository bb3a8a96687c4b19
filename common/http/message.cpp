#include "common/http/message.hpp"

#include <nlohmann/json.hpp>
#include <openssl/crypto.h>

#include <algorithm>
#include <utility>

namespace cupel::http {

bool Principal::may(std::string_view scope) const {
  return std::ranges::find(scopes, scope) != scopes.end();
}

std::string_view Request::header(const std::string& lower_case_name) const {
  const auto found = headers.find(lower_case_name);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

std::string_view Request::param(const std::string& name) const {
  const auto found = params.find(name);
  return found == params.end() ? std::string_view() : std::string_view(found->second);
}

std::string_view Request::argument(const std::string& query_name) const {
  const auto found = query.find(query_name);
  return found == query.end() ? std::string_view() : std::string_view(found->second);
}

Response text_response(unsigned status, std::string content_type, std::string body) {
  Response response;
  response.status = status;
  response.content_type = std::move(content_type);
  response.body = std::move(body);
  return response;
}

unsigned status_of(Errc code) {
  switch (code) {
    case Errc::usage:
    case Errc::yaml_syntax:
    case Errc::unknown_key:
    case Errc::bad_value:
    case Errc::unquoted_version:
    case Errc::duplicate_key:
    case Errc::missing_key:
    case Errc::no_repositories:
    case Errc::not_supported:
    case Errc::artifact_mismatch: return 400;
    case Errc::unauthenticated: return 401;
    case Errc::forbidden:
    case Errc::refused_by_policy: return 403;
    case Errc::not_found: return 404;
    case Errc::conflict:
    case Errc::already_exists: return 409;
    case Errc::too_large: return 413;
    case Errc::not_ready:
    case Errc::retry_later:
    case Errc::store_failed: return 503;
    case Errc::disk_full: return 507;
    default: return 500;
  }
}

Response problem(const Error& error, const std::vector<ProblemItem>& items) {
  return problem_with_status(status_of(error.code), error, items);
}

Response problem_with_status(unsigned status, const Error& error,
                             const std::vector<ProblemItem>& items) {
  const ErrorInfo& info = error_info(error.code);
  nlohmann::json body = {
      {"type", "about:blank"},
      {"title", info.label},
      {"status", status},
      {"detail", error.detail.empty() ? error.what : error.what + ": " + error.detail},
      {"code", error_tag(error.code)},
      {"label", info.label},
      {"hint", error.hint.empty() ? std::string(info.hint) : error.hint},
  };
  if (!items.empty()) {
    auto& list = body["errors"] = nlohmann::json::array();
    for (const ProblemItem& item : items) {
      list.push_back({{"line", item.line},
                      {"column", item.column},
                      {"message", item.message},
                      {"code", error_tag(item.code)}});
    }
  }
  Response response;
  response.status = status;
  response.content_type = "application/problem+json";
  response.body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

void TokenTable::add(std::string_view token, Principal principal) {
  entries_.push_back({sha256(token), std::move(principal)});
}

std::optional<Principal> TokenTable::check(std::string_view token) const {
  const Digest given = sha256(token);
  const Principal* found = nullptr;
  // No early end: the time must not tell which entry was nearest.
  for (const Entry& entry : entries_) {
    if (CRYPTO_memcmp(entry.digest.bytes.data(), given.bytes.data(), given.bytes.size()) == 0) {
      found = &entry.principal;
    }
  }
  if (found == nullptr) return std::nullopt;
  return *found;
}

}  // namespace cupel::http
