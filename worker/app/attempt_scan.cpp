// Scanner and database: downloaded once, proved before every scan.
#include "worker/app/attempt_scan.hpp"

#include "common/fs/files.hpp"
#include "worker/app/attempt.hpp"
#include "worker/core/go/plan.hpp"
#include "worker/run/offload.hpp"
#include "worker/scan/scan_store.hpp"
#include "worker/scan/unit_facts.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <functional>
#include <utility>

namespace cupel::worker {

namespace asio = boost::asio;

namespace {

using Found = std::optional<std::string>;

}  // namespace

/// The directory, or what keeps us from having it. `find` and `keep` run on the file pool.
asio::awaitable<Result<std::string>> TaskRunner::have_artifact(
    AttemptPtr attempt, Digest digest, std::uint64_t bytes_max, std::function<Found()> find,
    std::function<Result<std::string>(const std::string& file)> keep) {
  if (Found found = co_await offload(parts_.files, find)) co_return *std::move(found);
  const ScanStore store(parts_.options.data_dir + "/scan");
  const auto file = store.new_file();
  if (!file) co_return file.error();
  auto fetched = co_await asio::co_spawn(
      parts_.bulk.executor(),
      parts_.bulk.download(attempt->key(), digest, bytes_max, *file, kDownloadLimit,
                           [cancel = attempt->cancel] { return cancel->cancelled(); }),
      asio::use_awaitable);
  if (!fetched) {
    (void)fs::remove_tree(*file);
    co_return fetched.error();
  }
  auto kept = [keep = std::move(keep), path = *file] {
    auto answer = keep(path);
    (void)fs::remove_tree(path);
    return answer;
  };
  co_return co_await offload(parts_.files, std::move(kept));
}

asio::awaitable<Result<PreparedScan>> TaskRunner::prepare_scan(AttemptPtr attempt, ScanInput input,
                                                               std::string source, std::string dir,
                                                               std::string go_version) {
  PreparedScan prepared;
  ScanContext& context = prepared.context;
  context.problem = input.problem;
  context.message = input.message;
  if (input.problem != Reason::none) co_return prepared;
  const ScanStore store(parts_.options.data_dir + "/scan");

  std::function<Found()> find_tool = [store, digest = input.scanner] {
    return store.find_scanner(digest);
  };
  std::function<Result<std::string>(const std::string&)> keep_tool_file =
      [store, digest = input.scanner](const std::string& file) {
        return store.keep_scanner(file, digest);
      };
  auto tools = co_await have_artifact(attempt, input.scanner, kScannerBytesMax,
                                      std::move(find_tool), std::move(keep_tool_file));
  if (!tools) co_return tools.error();

  std::function<Found()> find_database = [store, id = input.database_id] {
    return store.find_database(id);
  };
  std::function<Result<std::string>(const std::string&)> keep_database =
      [store, id = input.database_id, time = input.database_time](const std::string& file) {
        return store.keep_database(file, id, time);
      };
  auto vulndb = co_await have_artifact(attempt, input.database, kDatabaseTarBytesMax,
                                       std::move(find_database), std::move(keep_database));
  if (!vulndb && vulndb.error().code == Errc::artifact_mismatch) {
    context.problem = Reason::vulndb_corrupt;
    context.message = vulndb.error().text();
    co_return prepared;
  }
  if (!vulndb) co_return vulndb.error();

  prepared.tools = *std::move(tools);
  prepared.vulndb = *std::move(vulndb);
  context.database_id = input.database_id;
  context.expected = {.scanner_version = input.version,
                      .database_url = std::string(kDatabaseUrl),
                      .database_time = input.database_time,
                      .go_version = "go" + go_version};
  auto facts = [source = std::move(source), dir = std::move(dir), database = prepared.vulndb] {
    auto required = read_required(source, dir);
    auto advisories = read_advisories(database, required);
    return std::pair(std::move(required), std::move(advisories));
  };
  auto [required, advisories] = co_await offload(parts_.files, std::move(facts));
  context.required = std::move(required);
  context.advisories = std::move(advisories);
  co_return prepared;
}

}  // namespace cupel::worker
