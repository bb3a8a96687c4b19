/// Cupel's errors: one registry for the wire, metrics, the API and the command line.
#pragma once

#include <boost/system/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupel {

/// Stable codes. The number is what people search for (CUP-nnnn) and what travels; the label is a
/// metric label. A code is added, never renamed or reused. Thousands say who can act:
/// 1xxx the author of a campaign file, 2xxx the operator, 3xxx engine and host, 4xxx the fleet's
/// protocol, 5xxx the store and the API, 9xxx a bug of ours.
enum class Errc : std::uint16_t {
  // 10xx: campaign file and arguments
  usage = 1001,             ///< Command line that no command understands.
  yaml_syntax = 1010,       ///< The file is not YAML.
  unknown_key = 1011,       ///< A key that the schema doesn't have.
  bad_value = 1012,         ///< A value of the wrong type, outside its bounds or malformed.
  unquoted_version = 1013,  ///< A version written as a bare number: YAML turns 1.20 into 1.2.
  duplicate_key = 1014,     ///< A key that stands twice in one mapping.
  missing_key = 1015,       ///< A required key is absent.
  no_repositories = 1016,   ///< The campaign selects nothing.
  not_supported = 1017,     ///< Known word of the grammar that this version can't run.
  // 20xx: configuration, keys, files of the operator
  bad_config = 2001,       ///< A configuration file or variable is wrong.
  key_unreadable = 2002,   ///< A key file is missing or malformed.
  key_permissions = 2003,  ///< A secret file that others can read.
  not_found = 2010,        ///< The thing named doesn't exist.
  already_exists = 2011,   ///< The thing named exists already.
  locked = 2012,           ///< Another process holds the data directory.
  // 30xx: engine and host
  engine_unreachable = 3001,  ///< No engine behind the socket.
  engine_timeout = 3002,      ///< The call's own budget was spent; its effect is unknown.
  engine_refused = 3003,      ///< The engine answered with a status that the call can't accept.
  engine_protocol = 3004,     ///< The engine's answer is not what its API promises.
  image_missing = 3005,       ///< The image is not on this engine; runs never pull.
  mount_probe_failed = 3006,  ///< A directory of ours is not what a container sees.
  disk_full = 3007,           ///< Below the watermark, or ENOSPC.
  io_error = 3008,            ///< A file operation of the host failed.
  process_failed = 3009,      ///< A child process (git) ended badly.
  unsafe_sandbox = 3010,      ///< The engine can't give what a profile demands.
  // 40xx: protocol between coordinator and worker
  protocol_mismatch = 4001,        ///< No common protocol version.
  malformed_message = 4002,        ///< Bytes that are no valid message.
  lease_lost = 4003,               ///< The token is not the live one.
  not_trusted = 4004,              ///< The key is not on the list, or was revoked.
  duplicate_identity = 4005,       ///< Another live process uses this key.
  retry_later = 4006,              ///< Right request at the wrong moment; wait as told.
  refused_by_policy = 4007,        ///< Asked for something that a message may not ask.
  coordinator_unreachable = 4008,  ///< Nobody answers at the address.
  artifact_mismatch = 4009,        ///< Bytes whose digest is not the promised one.
  // 50xx: store and API
  store_failed = 5001,     ///< The store refused or lost a transaction.
  unauthenticated = 5002,  ///< No token, or an unknown one.
  forbidden = 5003,        ///< The token's scope doesn't allow it.
  conflict = 5004,         ///< The request contradicts the state (or an idempotency key).
  too_large = 5005,        ///< Over a documented limit.
  not_ready = 5006,        ///< Starting, draining, or the store is gone.
  // 90xx
  cancelled = 9001,  ///< Stopped on request; says nothing about the subject.
  bug = 9999,        ///< What must not happen.
};

/// What the registry knows of a code. `exit_code` is the one of `cupel` (docs/exit-codes.md).
struct ErrorInfo {
  Errc code;
  std::string_view label;  ///< snake_case, a metric label value.
  int exit_code;
  std::string_view hint;  ///< What to do next; may be empty.
};

/// Every code, in order; the source of `docs/errors.md` and of metric label sets.
[[nodiscard]] const std::vector<ErrorInfo>& error_registry();
[[nodiscard]] const ErrorInfo& error_info(Errc code);
/// "CUP-3005".
[[nodiscard]] std::string error_tag(Errc code);

/// An expected failure as a value. Exceptions are for bugs.
struct Error {
  Errc code = Errc::bug;
  std::string what;    ///< What happened, to what: one sentence without a full stop.
  std::string detail;  ///< The other side's own words, at most 4 KiB. May be empty.
  std::string hint;    ///< Overrides the registry's hint where more is known.

  /// "kill 4f1c9a: the engine did not answer within 15 s (CUP-3002)\n  detail\n  hint"
  [[nodiscard]] std::string text() const;
};

/// Cuts foreign text to 4 KiB on a UTF-8 boundary.
[[nodiscard]] std::string capped_detail(std::string_view text);

template <typename T>
using Result = boost::system::result<T, Error>;

/// Called by result::value() on an error: that is a bug of the caller.
[[noreturn]] void throw_exception_from_error(const Error& error,
                                             const boost::source_location& where);

}  // namespace cupel
