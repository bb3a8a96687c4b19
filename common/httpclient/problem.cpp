#include "common/httpclient/problem.hpp"

#include <nlohmann/json.hpp>

#include <charconv>

namespace cupel::httpclient {
namespace {

using nlohmann::json;

Errc code_of_status(int status) {
  switch (status) {
    case 400: return Errc::bad_value;
    case 401: return Errc::unauthenticated;
    case 403: return Errc::forbidden;
    case 404: return Errc::not_found;
    case 409:
    case 422: return Errc::conflict;
    case 413: return Errc::too_large;
    case 429: return Errc::retry_later;
    case 503: return Errc::not_ready;
    default: return Errc::store_failed;
  }
}

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// "CUP-1012" to the code, where the registry knows it.
std::optional<Errc> code_of_tag(const std::string& tag) {
  unsigned number = 0;
  if (!tag.starts_with("CUP-")) return std::nullopt;
  const auto [end, failure] = std::from_chars(tag.data() + 4, tag.data() + tag.size(), number);
  if (failure != std::errc{} || end != tag.data() + tag.size()) return std::nullopt;
  for (const ErrorInfo& info : error_registry()) {
    if (static_cast<unsigned>(info.code) == number) return info.code;
  }
  return std::nullopt;
}

std::string listed(const json& problem) {
  std::string out;
  const auto errors = problem.find("errors");
  if (errors == problem.end() || !errors->is_array()) return out;
  for (const json& error : *errors) {
    if (!error.is_object()) continue;
    if (!out.empty()) out += "\n  ";
    const auto number = [&error](const char* key) {
      const auto found = error.find(key);
      return found != error.end() && found->is_number_integer() ? found->get<int>() : 0;
    };
    if (number("line") > 0)
      out += std::to_string(number("line")) + ":" + std::to_string(number("column")) + ": ";
    out += text_of(error, "message");
    if (const std::string tag = text_of(error, "code"); !tag.empty()) out += " (" + tag + ")";
  }
  return out;
}

}  // namespace

Error error_of_answer(int status, std::string_view body) {
  Error error{code_of_status(status),
              "the coordinator answered with status " + std::to_string(status), "", ""};
  const json problem = json::parse(body, nullptr, false);
  if (!problem.is_object()) return error;
  if (const auto code = code_of_tag(text_of(problem, "code"))) error.code = *code;
  const std::string detail = text_of(problem, "detail");
  const std::string title = text_of(problem, "title");
  if (!detail.empty() || !title.empty())
    error.what = capped_detail(detail.empty() ? title : detail);
  error.detail = capped_detail(listed(problem));
  error.hint = capped_detail(text_of(problem, "hint"));
  return error;
}

}  // namespace cupel::httpclient
