/// What may be fetched from where, and with which credentials. Pure but for read_credentials().
#pragma once

#include "common/core/error.hpp"
#include "common/core/refusal.hpp"
#include "common/core/time.hpp"

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
  std::vector<std::string> protocols = {"https",
                                        "ssh"};  ///< May hold "http", "git" and "file", too.
  /// Hosts ("127.0.0.1", "git.internal:3000") and, for file:, directories that are allowed although
  /// they are loopback, link-local or local.
  std::vector<std::string> allowed_local;
  std::vector<GitCredential> credentials;
  std::string ssh_known_hosts;           ///< File; ssh is refused without one.
  std::string ca_bundle;                 ///< PEM file for https; empty = the system's.
  std::string https_proxy;               ///< For git's own traffic; empty = none.
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

/// The same for an address that the host's name turned out to have.
[[nodiscard]] bool is_local_address(std::string_view address);

/// The most specific credential for this URL.
[[nodiscard]] const GitCredential* credential_for(const GitUrl& url, const GitPolicy& policy);

/// A file of lines "scheme://user:password@host[:port]/path/" (percent-encoded) and, for ssh,
/// "ssh://user@host/path/ key=/file". Comments with '#'. Errors: key_permissions, bad_config with
/// the line (never its content).
[[nodiscard]] Result<std::vector<GitCredential>> read_credentials(
    const std::filesystem::path& file);
[[nodiscard]] Result<std::vector<GitCredential>> parse_credentials(std::string_view text);

}  // namespace cupel::worker
