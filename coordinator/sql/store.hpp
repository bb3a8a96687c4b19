/// The SQL store: SQLite or PostgreSQL. Statements are portable; what differs is in
/// connection_*.cpp.
#pragma once

#include "common/core/digest.hpp"
#include "coordinator/ports/store.hpp"
#include "coordinator/sql/leader.hpp"
#include "coordinator/sql/location.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

namespace cupel::coordinator::sql {

/// Makes the file (0600) or migrates the store, and gives the fleet its id. Call it before a writer
/// or reader. Errors: store_failed, disk_full, bad_config (newer schema), lease_lost.
[[nodiscard]] Result<void> prepare_store(const StoreLocation& location,
                                         const std::optional<Leader>& leader = {});

struct WriterOptions {
  /// Each transaction fails with lease_lost once another coordinator leads. Nothing: nobody else
  /// can write to the store.
  std::optional<Leader> leader = {};
  /// Transitions after which a group is committed although more batches wait.
  std::size_t group_transitions_max = 8192;
  /// After each commit, on the writer's thread: batches, transitions, seconds, success. For
  /// metrics.
  std::function<void(std::size_t batches, std::size_t transitions, double seconds, bool ok)>
      on_commit;
};

/// One thread that owns a connection: takes every batch that waits and commits them as one
/// transaction. After the first failure every batch fails: nothing of the failed group is in the
/// store.
class SqlWriter final : public StoreWriter {
 public:
  [[nodiscard]] static Result<std::unique_ptr<SqlWriter>> open(const StoreLocation& location,
                                                               WriterOptions options = {});
  /// Commits what waits, then ends the thread.
  ~SqlWriter() override;

  void apply(std::vector<Transition> batch, std::function<void(Result<Applied>)> done) override;
  /// Removes at most `limit` rows of events (event_packs.hpp) that are older than `before`, the
  /// oldest first; those of open campaigns stay, and so does the last one, from which numbers go
  /// on. `done` gets the number of events that went; else as for apply.
  void expire_events(WallTime before, std::uint32_t limit,
                     std::function<void(Result<std::uint64_t>)> done);
  [[nodiscard]] std::size_t waiting() const { return waiting_; }
  [[nodiscard]] bool failed() const { return failed_; }
  /// From any thread: nothing is waited for any more, whatever the database does. Every batch from
  /// now on fails.
  void cut();

 private:
  struct Job {
    std::vector<Transition> batch;
    std::function<void(Result<Applied>)> done;
    std::function<void()> work;  ///< Instead of a batch; in the same transaction.
  };
  struct Inside;
  SqlWriter(std::unique_ptr<Inside> inside, WriterOptions options);
  void run();
  void commit(std::deque<Job>& group);

  std::unique_ptr<Inside> inside_;
  WriterOptions options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;
  bool stop_ = false;
  std::atomic<std::size_t> waiting_{0};
  std::atomic<bool> failed_{false};
  std::thread thread_;
};

/// What retention must leave.
struct ArtifactsNeeded {
  std::optional<WallTime> open_since;  ///< When the oldest open campaign was made.
  std::set<Digest> always;             ///< Built tools: they serve later campaigns as well.
};

/// A connection for reading; one thread at a time. It is made by the first read, and anew after it
/// was lost.
class SqlReader final : public StoreReader {
 public:
  [[nodiscard]] static Result<std::unique_ptr<SqlReader>> open(const StoreLocation& location);
  ~SqlReader() override;
  /// From any thread: the read under way fails now, if it waits for a server.
  void cut();

  Result<Recovered> recover() override;
  Result<std::vector<CampaignSummary>> campaigns(Page page,
                                                 std::optional<CampaignState> state) override;
  Result<CampaignSummary> campaign(CampaignId id) override;
  Result<std::optional<CampaignId>> find_idempotent(const std::string& owner,
                                                    const std::string& key) override;
  Result<std::vector<UnitResult>> results(CampaignId id, UnitId after, std::uint32_t limit,
                                          std::optional<Verdict> verdict) override;
  Result<TaskView> task(TaskId id) override;
  Result<UnitRow> unit(UnitId id) override;
  Result<std::vector<DeadLetterView>> dead_letters(std::optional<CampaignId> campaign,
                                                   std::optional<DeadLetterState> state,
                                                   Page page) override;
  Result<DeadLetterView> dead_letter(TaskId task) override;
  Result<std::vector<TaskView>> tasks_of(CampaignId campaign, UnitId unit) override;
  Result<std::vector<RepositoryRow>> repositories(CampaignId id) override;
  Result<std::vector<FlakeRow>> flakes(const std::string& repository, Page page) override;
  Result<std::vector<EventRow>> events_after(std::uint64_t seq, std::optional<CampaignId> campaign,
                                             std::uint32_t limit) override;
  Result<std::uint64_t> last_event() override;
  [[nodiscard]] Result<ArtifactsNeeded> artifacts_needed();

 private:
  struct Inside;
  explicit SqlReader(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace cupel::coordinator::sql
