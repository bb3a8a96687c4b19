/// Small edits of a go.mod that leave every other byte as it is. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cupel::worker::change {

/// The go line becomes `version`; a missing one is added. The toolchain line stays.
[[nodiscard]] std::string with_go_version(std::string_view go_mod, std::string_view version);

/// `replace module => target [version]` at the end; earlier replacements of the module (of all
/// versions and of one) are dropped. `version` empty: `target` is a directory.
[[nodiscard]] std::string with_replacement(std::string_view go_mod, std::string_view module,
                                           std::string_view target, std::string_view version);

}  // namespace cupel::worker::change
