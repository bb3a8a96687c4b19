#include "worker/app/kept_state.hpp"

#include <spdlog/spdlog.h>

#include <cstdint>
#include <string_view>
#include <utility>

namespace cupel::worker {
namespace {

constexpr const char* kFleetFile = "/fleet.id";

Result<void> keep_number(const std::string& file, std::uint64_t number) {
  return fs::write_file_durably(file, to_base32(number) + "\n", 0600);
}

/// A number that is made once and kept; with `make` 0 a missing one stays missing.
Result<std::uint64_t> kept_number(const std::string& file, std::uint64_t make) {
  const auto text = fs::read_file(file, 64);
  if (text) {
    const auto number = from_base32(std::string_view(*text).substr(0, text->find('\n')));
    if (!number) {
      return Error{Errc::io_error, file + " is damaged", *text,
                   "restore it, or remove it to begin anew"};
    }
    return *number;
  }
  if (text.error().code != Errc::not_found) return text.error();
  if (make == 0) return std::uint64_t{0};
  auto written = keep_number(file, make);
  if (!written) return written.error();
  return make;
}

}  // namespace

Result<KeptState> open_kept_state(const Options& options) {
  if (auto made = fs::ensure_private_dir(options.data_dir); !made) return made.error();
  auto lock = fs::FileLock::take(options.data_dir + "/lock");
  if (!lock) return lock.error();
  const auto worker = kept_number(options.data_dir + "/worker.id", fs::random_u64() | 1U);
  if (!worker) return worker.error();
  const auto fleet = kept_number(options.data_dir + kFleetFile, 0);
  if (!fleet) return fleet.error();
  auto outbox = Outbox::open(options.data_dir + "/outbox", options.outbox_reserve_bytes);
  if (!outbox) return outbox.error();
  const auto found = outbox->recover();
  if (!found) return found.error();
  std::vector<LiveLease> waiting;
  for (const TaskResult& result : found->results) waiting.push_back({result.task, result.token});
  for (const std::string& file : found->damaged)
    spdlog::error("outbox: {} is no result; set aside", file);
  return KeptState{std::move(*lock), WorkerId{*worker}, FleetId{*fleet}, std::move(*outbox),
                   std::move(waiting)};
}

Result<void> keep_fleet(const std::string& data_dir, FleetId fleet) {
  return keep_number(data_dir + kFleetFile, fleet.value);
}

}  // namespace cupel::worker
