#pragma once

#include "coordinator/sql/store.hpp"
#include "tests/support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace cupel::coordinator::sql {

using ScratchDir = tests::TempDir;

/// Applies a batch and waits for its commit.
Result<Applied> commit(StoreWriter& writer, std::vector<Transition> batch);

enum class Dialect : std::uint8_t { sqlite, postgres };
[[nodiscard]] std::string name_of(const testing::TestParamInfo<Dialect>& dialect);

/// What runs on both stores: each test with a store of its own that nobody has prepared.
class BothStores : public testing::TestWithParam<Dialect> {
 protected:
  ScratchDir dir_;
  std::filesystem::path file_ = dir_.path() / "store.db";  ///< SQLite's.
  StoreLocation store_ = make_store();

 private:
  StoreLocation make_store() const;
};
#define CUPEL_ON_BOTH_STORES(suite)                                                   \
  INSTANTIATE_TEST_SUITE_P(Sqlite, suite, testing::Values(Dialect::sqlite), name_of); \
  INSTANTIATE_TEST_SUITE_P(Postgres, suite, testing::Values(Dialect::postgres), name_of)

/// A prepared store with a writer and a reader. Tests of it are TEST_P.
class StoreTest : public BothStores {
 protected:
  void SetUp() override;
  std::unique_ptr<SqlWriter> open_writer(WriterOptions options = {});

  std::unique_ptr<SqlWriter> writer_;
  std::unique_ptr<SqlReader> reader_;
};

inline constexpr CampaignId kCampaign{11};
inline constexpr RepositoryId kRepository{21};
inline constexpr UnitId kUnit{31};
inline constexpr TaskId kTask{41};
inline constexpr WorkerId kWorker{0xfedc'ba98'7654'3210};  // above what a signed number holds
inline constexpr Token kToken{51};

/// A campaign with one repository, one unit and one queued task.
std::vector<Transition> small_campaign();
TaskRow queued_task();
TaskResult passing_result(TaskId task, Token token);

}  // namespace cupel::coordinator::sql
