/// Results that wait on disk until the coordinator has acknowledged them after its commit: written
/// and synced before they are sent, removed when acknowledged. Blocking; call it on the file pool.
#pragma once

#include "common/core/error.hpp"
#include "common/core/task.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace cupel::worker {

class Outbox {
 public:
  /// Opens (or makes) the directory, 0700, and sets `reserve_bytes` of disk aside in it, so that a
  /// finished result can be written on a disk that has run full.
  [[nodiscard]] static Result<Outbox> open(std::filesystem::path dir, std::uint64_t reserve_bytes);

  /// Durable when it returns. A result of the same token is replaced.
  [[nodiscard]] Result<void> put(const TaskResult& result);

  [[nodiscard]] Result<TaskResult> get(Token token) const;

  /// Missing is success.
  [[nodiscard]] Result<void> remove(Token token);

  struct Found {
    std::vector<TaskResult> results;   ///< By token, smallest first.
    std::vector<std::string> damaged;  ///< Files that are no result: set aside as NAME.damaged.
  };
  /// What an earlier process left. Half-written files of a crash are removed.
  [[nodiscard]] Result<Found> recover();

  /// Bytes and files that wait.
  struct Size {
    std::uint64_t bytes = 0;
    std::uint64_t results = 0;
  };
  [[nodiscard]] Size size() const;

 private:
  Outbox(std::filesystem::path dir, std::uint64_t reserve_bytes)
      : dir_(std::move(dir)), reserve_bytes_(reserve_bytes) {}
  [[nodiscard]] std::filesystem::path file_of(Token token) const;
  [[nodiscard]] Result<void> make_reserve() const;

  std::filesystem::path dir_;
  std::uint64_t reserve_bytes_;
};

}  // namespace cupel::worker
