#include "coordinator/app/term.hpp"

#include "common/campaign/parse.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <map>
#include <utility>

namespace cupel::coordinator {

Now now_of_clocks() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::steady_clock::now(),
          {std::chrono::duration_cast<std::chrono::microseconds>(wall).count()}};
}

Result<std::unique_ptr<Term>> Term::open(const Options& options,
                                         const std::optional<sql::Leader>& leader,
                                         CoordinatorMetrics& metrics) {
  if (auto prepared = sql::prepare_store(options.store, leader); !prepared) return prepared.error();
  auto term = std::make_unique<Term>();
  term->leader = leader;
  sql::WriterOptions writing;
  writing.leader = leader;
  writing.on_commit = [&metrics](std::size_t, std::size_t transitions, double seconds, bool ok) {
    metrics.committed(transitions, seconds, ok);
  };
  auto writer = sql::SqlWriter::open(options.store, std::move(writing));
  if (!writer) return writer.error();
  term->writer = std::move(*writer);
  auto reader = sql::SqlReader::open(options.store);
  if (!reader) return reader.error();
  term->reader = std::move(*reader);
  auto recovered = term->reader->recover();
  if (!recovered) return recovered.error();
  const auto last_event = term->reader->last_event();
  if (!last_event) return last_event.error();
  term->last_event = *last_event;
  std::map<CampaignId, campaign::Campaign> campaigns;
  for (const CampaignRow& row : recovered->campaigns) {
    auto parsed = campaign::from_canonical_json(row.document);
    if (parsed) {
      campaigns.emplace(row.id, std::move(*parsed));
    } else {
      spdlog::error("campaign {} can't be read any more and is cancelled: {}", row.id.text(),
                    parsed.error().text());
    }
  }
  spdlog::info("store opened: {} open campaigns, {} open tasks", recovered->campaigns.size(),
               recovered->tasks.size());
  term->machine.emplace(options.machine, std::move(*recovered), std::move(campaigns),
                        now_of_clocks());
  return term;
}

void Term::start_retention(const RetentionSettings& settings, fs::ArtifactStore& artifacts,
                           CoordinatorMetrics& metrics) {
  retention = std::make_unique<Retention>(settings, *writer, std::move(reader), artifacts, metrics);
}

Term::~Term() {
  if (writer) writer->cut();
  if (reader) reader->cut();
  if (retention) retention->cut();
  // Before the writer, whose answers it waits for.
  retention.reset();
}

}  // namespace cupel::coordinator
