/// What may be fetched from where, and with which credentials. Pure but for read_credentials().
///
/// Credentials are never part of a message: errors name the line of the file, not what stands in
/// it.
#pragma once

#include "common/core/error.hpp"
#include "common/core/refusal.hpp"
#include "common/core/time.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker {

/// A secret for every URL below scheme, host (with port) and path prefix.
struct GitCredential {
  std::string scheme;  ///< "https" or "ssh"
  std::string host;    ///< "git.example.com" or "git.example.com:8443"
  std::string path;    ///< "/team/"; "/" = the whole host. Ends in '/'.
  std::string user;
  std::string password;  ///< https only.
  std::string key_file;  ///< ssh only: private key, 0600.
};

struct GitPolicy {
  std::vector<std::string> protocols = {"https", "ssh"};  ///< May hold "http" and "git", too.
  bool allow_local = false;  ///< file: URLs, loopback and private addresses, plain http to them.
  std::vector<std::string>
      allowed;  ///< Hosts ("git.internal:3000") or URL prefixes, accepted all the same.
  std::vector<GitCredential> credentials;
  std::string ssh_known_hosts;  ///< File; empty = /etc/ssh/ssh_known_hosts.
  std::string ca_bundle;        ///< PEM file for https; empty = the system's.
  std::string https_proxy;      ///< For git's own traffic; empty = none.
  std::string no_proxy;
  std::uint64_t bytes_max = 1ULL << 30;  ///< Of the bare repository while it grows.
  Duration time_max = std::chrono::minutes(10);
  std::string git = "/usr/bin/git";
  std::string path = "/usr/bin:/bin";  ///< PATH of the child, for git's own parts and ssh.
};

struct GitUrl {
  std::string scheme;  ///< Lower case: https, http, ssh, git, file.
  std::string user;
  std::string host;  ///< Lower case, without brackets.
  std::string port;  ///< Digits or empty.
  std::string path;  ///< Begins with '/'.
  /// "host" or "host:port".
  [[nodiscard]] std::string authority() const;
  /// The URL as it is handed to git: without user and password for https.
  [[nodiscard]] std::string text() const;
};

/// Both forms: "scheme://..." and "user@host:path". Nothing for anything else.
[[nodiscard]] std::optional<GitUrl> parse_git_url(std::string_view text);

/// Refusal source_not_allowed with the reason, or nothing. Text that begins with '-', control
/// characters, passwords in the URL, "helper::" forms, protocols that are not on the list,
/// loopback, link-local, unspecified and private-use literal addresses and "localhost" names
/// (unless allowed by name), local files (unless in an allowed directory).
[[nodiscard]] std::optional<SourceRefusal> judge_url(std::string_view url, const GitPolicy& policy);

/// Loopback, link-local, unspecified, multicast or carrier-internal addresses, IPv4 in IPv6
/// included: what a name must not resolve to unless it is allowed.
[[nodiscard]] bool is_local_address(std::string_view address);
/// True when the policy names this URL or its host.
[[nodiscard]] bool is_allowed_by_name(const GitUrl& url, const GitPolicy& policy);

/// The most specific credential for this URL.
[[nodiscard]] const GitCredential* credential_for(const GitUrl& url, const GitPolicy& policy);

/// A file of lines "scheme://user:password@host[:port]/path/" (percent-encoded) and, for ssh,
/// "ssh://user@host/path/ key=/file". Comments with '#'. Errors: key_permissions, bad_config with
/// the line (never its content).
[[nodiscard]] Result<std::vector<GitCredential>> read_credentials(
    const std::filesystem::path& file);
[[nodiscard]] Result<std::vector<GitCredential>> parse_credentials(std::string_view text);

}  // namespace cupel::worker
