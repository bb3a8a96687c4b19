#include "common/engine/answers.hpp"

#include <nlohmann/json.hpp>

#include <charconv>

namespace cupel::engine {

namespace {

Error refused(Errc code, unsigned status, std::string_view body, std::string_view what) {
  return {.code = code,
          .what = std::string(what) + ": the engine answered " + std::to_string(status),
          .detail = error_message(body),
          .hint = {}};
}

bool says(std::string_view body, std::string_view words) {
  return body.find(words) != std::string_view::npos;
}

}  // namespace

std::string ApiVersion::text() const {
  return std::to_string(major) + "." + std::to_string(minor);
}

std::optional<ApiVersion> ApiVersion::parse(std::string_view text) {
  ApiVersion version;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, version.major);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '.') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, version.minor);
  if (second.ec != std::errc{} || second.ptr != end) return std::nullopt;
  return version;
}

std::string error_message(std::string_view body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  if (json.is_object()) {
    const auto message = json.find("message");
    if (message != json.end() && message->is_string()) {
      return capped_detail(message->get<std::string>());
    }
  }
  return capped_detail(body);
}

Result<void> create_status(unsigned status, std::string_view body, std::string_view what) {
  if (status == 201) return {};
  if (status == 404) return refused(Errc::image_missing, status, body, what);
  // The name is taken: an earlier create of ours whose answer was lost, or somebody else's.
  // Podman tells it as a 500.
  if (status == 409 || (status == 500 && says(body, "name is already in use")))
    return refused(Errc::already_exists, status, body, what);
  return refused(Errc::engine_refused, status, body, what);
}

Result<void> start_status(unsigned status, std::string_view body, std::string_view what) {
  if (status == 204 || status == 304) return {};
  if (status == 404) return refused(Errc::not_found, status, body, what);
  return refused(Errc::engine_refused, status, body, what);
}

Result<void> kill_status(unsigned status, std::string_view body, std::string_view what) {
  if (status == 204 || status == 404 || status == 409) return {};
  // Engines before 1.25 and Podman tell "not running" as a 500.
  if (status == 500 &&
      (says(body, "is not running") || says(body, "can only kill running containers")))
    return {};
  return refused(Errc::engine_refused, status, body, what);
}

Result<Removal> remove_status(unsigned status, std::string_view body, std::string_view what) {
  if (status == 204 || status == 200 || status == 404) return Removal::gone;
  // A 409 without these words is a running container; its advice to force the removal holds the
  // word "removal" as well.
  if ((status == 409 || status == 500) && says(body, "removal of container") &&
      says(body, "in progress")) {
    return Removal::in_progress;
  }
  if (status == 409 || (status == 500 && says(body, "cannot be removed without force")))
    return refused(Errc::conflict, status, body, what);
  return refused(Errc::engine_refused, status, body, what);
}

Result<void> plain_status(unsigned status, std::string_view body, std::string_view what) {
  if (status >= 200 && status < 300) return {};
  if (status == 404) return refused(Errc::not_found, status, body, what);
  if (status == 409) return refused(Errc::conflict, status, body, what);
  return refused(Errc::engine_refused, status, body, what);
}

bool wants_other_version(unsigned status, std::string_view body) {
  return status == 400 && says(body, "client version") &&
         (says(body, "too old") || says(body, "too new"));
}

std::optional<std::string> dropped_limit(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    if (says(warning, "iscarded")) return capped_detail(warning);
  }
  return std::nullopt;
}

std::string url_escape(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      escaped += c;
    } else {
      escaped += '%';
      escaped += kHex[byte >> 4U];
      escaped += kHex[byte & 15U];
    }
  }
  return escaped;
}

bool is_container_ref(std::string_view text) {
  if (text.empty() || text.size() > 128) return false;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    if (!plain) return false;
  }
  return text.front() != '.' && text.front() != '-';
}

}  // namespace cupel::engine
