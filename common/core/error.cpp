#include "common/core/error.hpp"

#include "common/core/limits.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>

namespace cupel {

const std::vector<ErrorInfo>& error_registry() {
  static const std::vector<ErrorInfo> kRegistry = {
      {Errc::usage, "usage", 2, "see 'cupel help'"},
      {Errc::yaml_syntax, "yaml_syntax", 2, ""},
      {Errc::unknown_key, "unknown_key", 2, ""},
      {Errc::bad_value, "bad_value", 2, ""},
      {Errc::unquoted_version, "unquoted_version", 2, "put the version in quotes"},
      {Errc::duplicate_key, "duplicate_key", 2, "keep one of the two"},
      {Errc::missing_key, "missing_key", 2, ""},
      {Errc::no_repositories, "no_repositories", 2, "add a source under 'repositories'"},
      {Errc::not_supported, "not_supported", 2, ""},
      {Errc::bad_config, "bad_config", 2, "'config check' names every fault of the file"},
      {Errc::key_unreadable, "key_unreadable", 2, "make a key with 'cupel key generate'"},
      {Errc::key_permissions, "key_permissions", 2, "chmod 600 the file"},
      {Errc::not_found, "not_found", 9, ""},
      {Errc::already_exists, "already_exists", 1, ""},
      {Errc::locked, "locked", 1, "stop the other process, or use another data directory"},
      {Errc::engine_unreachable, "engine_unreachable", 1,
       "is the engine running, and may this user open its socket? 'cupel doctor worker' tells"},
      {Errc::engine_timeout, "engine_timeout", 1, ""},
      {Errc::engine_refused, "engine_refused", 1, ""},
      {Errc::engine_protocol, "engine_protocol", 1, ""},
      {Errc::image_missing, "image_missing", 1,
       "'cupel image pull' or 'cupel image build' gets it"},
      {Errc::mount_probe_failed, "mount_probe_failed", 1,
       "the engine must see the worker's data directory at the same path"},
      {Errc::disk_full, "disk_full", 1, "free space, or move the data directory"},
      {Errc::io_error, "io_error", 1, ""},
      {Errc::process_failed, "process_failed", 1, ""},
      {Errc::unsafe_sandbox, "unsafe_sandbox", 1, ""},
      {Errc::protocol_mismatch, "protocol_mismatch", 6, "upgrade the older side"},
      {Errc::malformed_message, "malformed_message", 6, ""},
      {Errc::lease_lost, "lease_lost", 1, ""},
      {Errc::not_trusted, "not_trusted", 4,
       "trust the key with 'cupel key trust' on the coordinator"},
      {Errc::duplicate_identity, "duplicate_identity", 4, "give each worker a key of its own"},
      {Errc::retry_later, "retry_later", 1, ""},
      {Errc::refused_by_policy, "refused_by_policy", 1, ""},
      {Errc::coordinator_unreachable, "coordinator_unreachable", 6,
       "is the coordinator running at this address, and does a firewall stand between?"},
      {Errc::artifact_mismatch, "artifact_mismatch", 1, ""},
      {Errc::store_failed, "store_failed", 1, ""},
      {Errc::unauthenticated, "unauthenticated", 4, "name a token file with --token-file"},
      {Errc::forbidden, "forbidden", 4, ""},
      {Errc::conflict, "conflict", 1, ""},
      {Errc::too_large, "too_large", 2, ""},
      {Errc::not_ready, "not_ready", 6, "try again in a moment"},
      {Errc::cancelled, "cancelled", 1, ""},
      {Errc::bug, "bug", 1, "this is a bug of Cupel: please report it with the log"},
  };
  return kRegistry;
}

const ErrorInfo& error_info(Errc code) {
  for (const ErrorInfo& info : error_registry()) {
    if (info.code == code) return info;
  }
  return error_registry().back();
}

std::string error_tag(Errc code) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "CUP-%04u", static_cast<unsigned>(code));
  return text.data();
}

namespace {

/// Each line of the text as a line of its own, indented.
void add_lines(std::string& all, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    all += "\n  ";
    all += text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

std::string Error::text() const {
  std::string all = what + " (" + error_tag(code) + ")";
  add_lines(all, detail);
  add_lines(all, hint.empty() ? error_info(code).hint : std::string_view(hint));
  return all;
}

std::string capped_detail(std::string_view text) {
  if (text.size() <= kMessageBytesMax) return std::string(text);
  std::size_t end = kMessageBytesMax - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + "...";
}

void throw_exception_from_error(const Error& error, const boost::source_location& where) {
  throw std::logic_error(error.text() + " [taken as a value at " + where.file_name() + ":" +
                         std::to_string(where.line()) + "]");
}

}  // namespace cupel
