/// The parts of a scenario's file. Internal to the reader.
#pragma once

#include "tests/engine_scenarios/reader.hpp"
#include "tests/engine_scenarios/scenario.hpp"

namespace cupel::scenarios {

inline constexpr std::uint64_t kTimesMax = 1'000'000;
inline constexpr int kDepthMax = 8;  ///< Of "repeat" in "repeat".

[[nodiscard]] CallPattern read_pattern(Reader& reader, const text::Node& node);
[[nodiscard]] ContainerPart read_part(Reader& reader, const text::Node& node, bool in_rule);
void read_engine(Reader& reader, const text::Node& node, EngineSetup& setup);
[[nodiscard]] OldContainer read_container(Reader& reader, const text::Node& node);
/// A frame of an output stream. `uncounted`: null where a frame is the engine's own.
void read_frame(Reader& reader, const text::Node& node, unsigned& stream, std::string& bytes,
                std::optional<std::uint32_t>& length, bool* uncounted);
[[nodiscard]] Program read_program(Reader& reader, const text::Node& node);
[[nodiscard]] Rule read_rule(Reader& reader, const text::Node& node);
[[nodiscard]] WantedFacts read_wanted(Reader& reader, const text::Node& node,
                                      const std::string& what,
                                      const std::vector<std::string>* known);
void read_expected_calls(Reader& reader, const text::Node& node, Scenario& scenario);
[[nodiscard]] Step read_step(Reader& reader, const text::Node& node);

}  // namespace cupel::scenarios
