/// Time that each kind of engine call may take.
#pragma once

#include "common/core/time.hpp"

#include <array>
#include <string_view>

namespace cupel::docker {

/// Every call's clock is its own and starts with the call.
struct EngineBudgets {
  Duration ping = std::chrono::seconds(2);
  /// version and info. Podman asks the package manager of its host about its helpers, which takes
  /// seconds on a slow disk.
  Duration version = std::chrono::seconds(30);
  Duration create = std::chrono::seconds(30);
  Duration attach = std::chrono::seconds(10);  ///< Until the connection is upgraded.
  Duration start = std::chrono::seconds(30);
  Duration wait_head = std::chrono::seconds(10);  ///< Until the answer's head.
  Duration kill = std::chrono::seconds(15);
  Duration second_wait = std::chrono::seconds(15);  ///< Body clock of the wait after a kill.
  Duration logs = std::chrono::seconds(30);         ///< Plus one second per 10 MiB of cap.
  Duration inspect = std::chrono::seconds(10);
  Duration remove = std::chrono::seconds(30);  ///< Until it is gone.
  Duration list = std::chrono::seconds(30);
  Duration image = std::chrono::seconds(30);     ///< Image inspect, list, tag, remove.
  Duration transfer = std::chrono::minutes(30);  ///< Image import and pull.
  Duration network = std::chrono::seconds(30);   ///< Network create and remove.

  /// What the calls after one run may take at most, each with its whole budget.
  [[nodiscard]] constexpr Duration after_run() const {
    return kill + second_wait + logs + inspect + remove;
  }
};

struct NamedBudget {
  std::string_view name;  ///< In settings and scenarios.
  Duration EngineBudgets::* time;
  std::string_view sentence;
};

inline constexpr std::array kNamedBudgets = {
    NamedBudget{"ping", &EngineBudgets::ping, "Asking whether the engine lives"},
    NamedBudget{"version", &EngineBudgets::version, "Asking what the engine is and can"},
    NamedBudget{"create", &EngineBudgets::create, "Making a container"},
    NamedBudget{"attach", &EngineBudgets::attach, "Connecting to a container's streams"},
    NamedBudget{"start", &EngineBudgets::start, "Starting a container"},
    NamedBudget{"wait_head", &EngineBudgets::wait_head, "Until a wait is taken up"},
    NamedBudget{"kill", &EngineBudgets::kill, "Ending a container"},
    NamedBudget{"second_wait", &EngineBudgets::second_wait, "Its end after that"},
    NamedBudget{"logs", &EngineBudgets::logs, "Reading logs, and a second more for each 10 MiB"},
    NamedBudget{"inspect", &EngineBudgets::inspect, "Asking how a container ended"},
    NamedBudget{"remove", &EngineBudgets::remove, "Removing a container until it is gone"},
    NamedBudget{"list", &EngineBudgets::list, "Listing containers"},
    NamedBudget{"image", &EngineBudgets::image, "Asking about images, naming, removing them"},
    NamedBudget{"transfer", &EngineBudgets::transfer, "Pulling or importing an image"},
    NamedBudget{"network", &EngineBudgets::network, "Making and removing a network"},
};

}  // namespace cupel::docker
