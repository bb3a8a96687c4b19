/// A book as JSON: how the store keeps what is known of a unit whose verdict is still open. Short
/// keys; absent members are at their defaults. Read back leniently: what can't be read is left out.
#pragma once

#include "coordinator/core/compare/facts.hpp"

#include <nlohmann/json_fwd.hpp>

namespace cupel::coordinator::compare {

[[nodiscard]] nlohmann::json to_json(const Book& book);
[[nodiscard]] Book book_from_json(const nlohmann::json& in);
[[nodiscard]] nlohmann::json to_json(const ChangeNote& note);
[[nodiscard]] nlohmann::json to_json(const Readiness& readiness);
[[nodiscard]] nlohmann::json to_json(const Run& run);
/// `marks`: how many there are; entries beyond it are left out.
[[nodiscard]] Run run_from_json(const nlohmann::json& in, std::size_t marks);
[[nodiscard]] nlohmann::json to_json(const Conditions& conditions);

}  // namespace cupel::coordinator::compare
