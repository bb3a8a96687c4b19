/// The coordinator's own secrets: its key pair and the API's tokens.
#pragma once

#include "common/http/message.hpp"
#include "common/net/curve_keys.hpp"

#include <filesystem>

namespace cupel::coordinator {

/// Reads the key; with `make`, a missing one is made first. Errors: those of net::read_key_file.
[[nodiscard]] Result<net::KeyPair> load_or_make_key(const std::filesystem::path& file, bool make);

/// One token a line: TOKEN [NAME [SCOPE,SCOPE]]; without a name "local", without scopes all. A
/// missing file is made (0600) with one random token. Errors: key_permissions, bad_config,
/// io_error.
[[nodiscard]] Result<cupel::http::TokenTable> load_or_make_tokens(
    const std::filesystem::path& file);
/// The lines of such a file. Errors: bad_config with "file:line".
[[nodiscard]] Result<cupel::http::TokenTable> parse_tokens(std::string_view text,
                                                           const std::string& file_name);

}  // namespace cupel::coordinator
