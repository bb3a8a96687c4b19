/// The store as the coordinator's app sees it. Real: coordinator/sql. Fakes: tests.
#pragma once

#include "coordinator/core/model.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cupel::coordinator {

struct EventRow {
  std::uint64_t seq = 0;
  CampaignId campaign;
  std::string type;
  std::string body;
  WallTime at;
};

/// What a committed batch gives back: the spec of every task that it leased, so that no second read
/// is needed before the lease is sent, the events with their numbers, and the before sides asked
/// for.
struct Applied {
  std::map<TaskId, std::string> specs;
  std::vector<EventRow> events;
  std::map<UnitId, BaselineRow> baselines;  ///< Of the BaselineWanted that there is one for.
};

/// Writes. One writer; batches that wait are committed together.
class StoreWriter {
 public:
  StoreWriter() = default;
  StoreWriter(const StoreWriter&) = delete;
  StoreWriter& operator=(const StoreWriter&) = delete;
  virtual ~StoreWriter() = default;

  /// Queues a batch; `done` is called on the writer's thread after the commit (or its failure:
  /// nothing of the batch is in the store, and the store is not to be trusted until it is
  /// reopened).
  virtual void apply(std::vector<Transition> batch, std::function<void(Result<Applied>)> done) = 0;
};

struct Page {
  std::uint32_t limit = 200;  ///< At most 200 for people's requests; internal readers may ask more.
  std::string token;          ///< Opaque, from the page before.
};

struct CampaignSummary {
  CampaignRow campaign;
  std::map<Verdict, std::uint64_t> verdicts;
  std::uint64_t units = 0;
  std::uint64_t units_open = 0;
  std::uint64_t repositories = 0;
  std::uint64_t repositories_open = 0;  ///< Not yet acquired: their units aren't known.
  std::map<TaskState, std::uint64_t> tasks;
  std::uint64_t interruptions = 0;  ///< Sum over its tasks.
};

struct UnitResult {
  UnitRow unit;
  RepositoryRow repository;
  std::string result;      ///< JSON of the deciding task's TaskResult; empty while open.
  std::string acquire;     ///< JSON of the AcquireModules result, where there is one.
  std::string comparison;  ///< JSON, see compare/record.hpp; empty for a plain validation.
};

/// A problem that comes and goes, counted over all campaigns.
struct FlakeRow {
  std::string name;  ///< Of the row: the digest of the next four.
  std::string repository;
  std::string module;
  std::string key;
  std::string signature;
  std::uint64_t hits = 0;   ///< Runs that showed it,
  std::uint64_t runs = 0;   ///< of so many.
  std::uint64_t times = 0;  ///< Units in which it was seen to come and go.
  CampaignId campaign;      ///< The last.
  WallTime first;
  WallTime last;
};

struct TaskView {
  TaskRow task;
  std::string spec;
  std::string result;  ///< JSON; empty while open.
  struct Attempt {
    Token token;
    WorkerId worker;
    WallTime started;
    WallTime ended;
    std::string how;
  };
  std::vector<Attempt> attempts;
};

/// A dead letter with what people and a replay need.
struct DeadLetterView {
  DeadLetterRow letter;
  RepositoryRow repository;    ///< Empty for a tool's.
  std::vector<UnitRow> units;  ///< Its unit, or those whose verdicts it decided.
  TaskView task;
};

/// Reads; each call blocks, so they are made on reader threads. Errors: Errc::store_failed,
/// not_found.
class StoreReader {
 public:
  StoreReader() = default;
  StoreReader(const StoreReader&) = delete;
  StoreReader& operator=(const StoreReader&) = delete;
  virtual ~StoreReader() = default;

  virtual Result<Recovered> recover() = 0;
  virtual Result<std::vector<CampaignSummary>> campaigns(Page page,
                                                         std::optional<CampaignState> state) = 0;
  virtual Result<CampaignSummary> campaign(CampaignId id) = 0;
  virtual Result<std::optional<CampaignId>> find_idempotent(const std::string& owner,
                                                            const std::string& key) = 0;
  /// In id order; `after` = 0 for the first page.
  virtual Result<std::vector<UnitResult>> results(CampaignId id, UnitId after, std::uint32_t limit,
                                                  std::optional<Verdict> verdict) = 0;
  virtual Result<TaskView> task(TaskId id) = 0;
  virtual Result<UnitRow> unit(UnitId id) = 0;
  /// The newest first; the page's token is the last one's task.
  virtual Result<std::vector<DeadLetterView>> dead_letters(std::optional<CampaignId> campaign,
                                                           std::optional<DeadLetterState> state,
                                                           Page page) = 0;
  virtual Result<DeadLetterView> dead_letter(TaskId task) = 0;
  virtual Result<std::vector<TaskView>> tasks_of(CampaignId campaign, UnitId unit) = 0;
  virtual Result<std::vector<RepositoryRow>> repositories(CampaignId id) = 0;
  /// The newest first; `repository` empty = all. The page's token is the last one's
  /// `last.us` and name: "20-NAME".
  virtual Result<std::vector<FlakeRow>> flakes(const std::string& repository, Page page) = 0;
  virtual Result<std::vector<EventRow>> events_after(std::uint64_t seq,
                                                     std::optional<CampaignId> campaign,
                                                     std::uint32_t limit) = 0;
  virtual Result<std::uint64_t> last_event() = 0;
};

}  // namespace cupel::coordinator
