/// What is inside Workspaces, for its two source files.
#pragma once

#include "worker/fs/workspace_record.hpp"
#include "worker/fs/workspaces.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cupel::worker {

namespace stdfs = std::filesystem;

/// Pins outlive the registry, so they count in a place of their own.
struct PinCounts {
  std::mutex mutex;
  std::map<RepositoryId, std::uint32_t> counts;
  bool pinned(RepositoryId repository) {
    const std::lock_guard lock(mutex);
    return counts.contains(repository);
  }
};

struct Workspaces::State {
  using UnitKey = std::pair<std::uint64_t, WorkspaceSlot>;
  struct Held {
    WorkspaceRecord record;
    std::uint64_t used = 0;  ///< Larger = later.
  };
  using Key = std::pair<std::uint64_t, std::string>;

  stdfs::path root;
  mutable std::mutex mutex;
  std::map<Key, Held> held;
  std::uint64_t clock = 0;
  std::vector<std::pair<RepositoryId, std::string>> garbage;  ///< Replaced; removed when unpinned.
  std::shared_ptr<PinCounts> pins = std::make_shared<PinCounts>();

  [[nodiscard]] stdfs::path data() const { return root / "data"; }
  [[nodiscard]] stdfs::path records() const { return root / "records"; }

  [[nodiscard]] stdfs::path file_of(const WorkspaceRecord& record) const;
  Result<void> save(const WorkspaceRecord& record) const;
  /// Marks it as used. Null: there is none.
  Held* find(RepositoryId repository, std::string_view commit);
  void load();
  void drop_strangers() const;
  /// The lock is held.
  Result<void> record_unit(RepositoryId repository, std::string_view commit, UnitKey key,
                           const UnitWorkspace& workspace);

  // Promotions (promotion.cpp).
  [[nodiscard]] stdfs::path promotions() const { return root / "promotions"; }
  [[nodiscard]] stdfs::path journal_of(const Promotion& promotion) const;
  Result<UnitWorkspace> promote(Promotion promotion);
  /// Brings every journal to before, after or conflict. At open(), after load().
  void recover_promotions();
  bool recover(const stdfs::path& file, const PromotionJournal& journal);
  std::set<std::string> conflicted;  ///< Journals that stopped.
  CrashHook crash;
};

/// The directory of ours that holds `path`: what was given out may have been filled one level
/// deeper.
[[nodiscard]] std::string top_of(const stdfs::path& root, const stdfs::path& path);

}  // namespace cupel::worker
