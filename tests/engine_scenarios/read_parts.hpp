/// The parts of a scenario's file. Internal to the reader.
#pragma once

#include "tests/engine_scenarios/reader.hpp"
#include "tests/engine_scenarios/scenario.hpp"

namespace cupel::scenarios {

[[nodiscard]] CallPattern read_pattern(Reader& reader, const text::Node& node);
[[nodiscard]] ContainerPart read_part(Reader& reader, const text::Node& node, bool in_rule);
void read_engine(Reader& reader, const text::Node& node, EngineSetup& setup);
[[nodiscard]] OldContainer read_container(Reader& reader, const text::Node& node);
[[nodiscard]] Program read_program(Reader& reader, const text::Node& node);
[[nodiscard]] Rule read_rule(Reader& reader, const text::Node& node);
[[nodiscard]] WantedFacts read_wanted(Reader& reader, const text::Node& node,
                                      const std::string& what,
                                      const std::vector<std::string>* known);
void read_expected_calls(Reader& reader, const text::Node& node, Scenario& scenario);
[[nodiscard]] Step read_step(Reader& reader, const text::Node& node);

}  // namespace cupel::scenarios
