/// A Docker Engine on a unix socket: healthy by itself, and wrong where a rule of the scenario says
/// so. Single-threaded; lives as long as its io_context runs.
#pragma once

#include "tests/engine_scenarios/calls.hpp"
#include "tests/engine_scenarios/scenario.hpp"

#include <boost/asio/io_context.hpp>

#include <memory>
#include <string>
#include <vector>

namespace cupel::scenarios {

class ScriptedEngine {
 public:
  /// Listens on `path` at once. Throws when it can't.
  ScriptedEngine(boost::asio::io_context& io, std::string path, const EngineSetup& setup,
                 const WorkerSetup& worker);
  ~ScriptedEngine();
  ScriptedEngine(const ScriptedEngine&) = delete;
  ScriptedEngine& operator=(const ScriptedEngine&) = delete;

  [[nodiscard]] const std::vector<RecordedCall>& calls() const;
  [[nodiscard]] std::size_t containers() const;
  [[nodiscard]] std::size_t running() const;
  /// Connections that the client holds open.
  [[nodiscard]] std::size_t connections() const;
  /// Two calls that change the same container at the same moment; empty when there were none.
  [[nodiscard]] const std::string& overlap() const;
  void apply(const ContainerPart& part);
  /// Ends every connection and everything that a container does.
  void stop();

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace cupel::scenarios
