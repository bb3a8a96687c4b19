#include "coordinator/app/lead.hpp"

#include "common/fs/files.hpp"

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdlib>
#include <utility>

namespace cupel::coordinator {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds kOpeningMax{10};  // waited for at the end of the process

Error not_ready(std::string why) {
  return {.code = Errc::not_ready, .what = std::move(why), .detail = {}, .hint = {}};
}

}  // namespace

Result<void> Lead::begin_alone() {
  auto term = Term::open(parts_.options, std::nullopt, parts_.metrics);
  if (!term) return term.error();
  begin(std::move(*term));
  return {};
}

void Lead::stand() {
  stand_by("the database has not been reached yet");
  sql::SeatSettings seat;
  seat.instance = cupel::fs::random_hex(12);
  seat.name = parts_.options.name;
  seat.lease = parts_.options.leader_lease;
  Leadership::Told told;
  told.waiting = [this](std::string why) {
    asio::post(parts_.loop, [this, why = std::move(why)] {
      if (!term_ && !opening_runs_) stand_by(why);
    });
  };
  told.elected = [this](sql::Leader leader) {
    asio::post(parts_.loop, [this, leader = std::move(leader)] { elected(leader); });
  };
  told.lost = [this](Error why) {
    asio::post(parts_.loop, [this, why = std::move(why)] {
      if (term_) end(why);
    });
  };
  leadership_ =
      std::make_unique<Leadership>(parts_.options.store, std::move(seat), std::move(told));
}

void Lead::stand_by(const std::string& why) {
  if (parts_.readiness.why() == why) return;
  spdlog::info("{}", why);
  parts_.readiness.set(why);
  parts_.control.end(not_ready(why));
}

void Lead::elected(const sql::Leader& leader) {
  if (term_) end(not_ready("the lead was won anew"));
  // An earlier opening ends as soon as its connection does, which the election has seen to.
  if (opening_.joinable()) opening_.join();
  stand_by("epoch " + std::to_string(leader.epoch) + " begins: the store is being read");
  elected_ = leader.epoch;
  opening_runs_ = true;
  opening_ = std::thread([this, leader] {
    auto term = Term::open(parts_.options, leader, parts_.metrics);
    auto shared = std::make_shared<Result<std::unique_ptr<Term>>>(std::move(term));
    opening_runs_ = false;
    asio::post(parts_.loop,
               [this, shared, epoch = leader.epoch] { opened(epoch, std::move(*shared)); });
  });
}

void Lead::opened(std::uint64_t epoch, Result<std::unique_ptr<Term>> term) {
  if (epoch != elected_) return;  // won anew meanwhile
  if (opening_.joinable()) opening_.join();
  if (!term) {
    const std::string failure = term.error().text();
    if (failure != last_failure_) spdlog::error("{}", failure);
    last_failure_ = failure;
    // Another schema won't become ours by waiting.
    if (term.error().code == Errc::bad_config) return parts_.fatal(term.error());
    stand_by(term.error().what);
    leadership_->give_up();
    return;
  }
  if (!leadership_->certain()) {
    stand_by("the lead was lost while the store was being read");
    leadership_->give_up();
    return;
  }
  last_failure_.clear();
  begin(*std::move(term));
}

void Lead::begin(std::unique_ptr<Term> term) {
  term_ = std::move(term);
  if (leadership_) {
    if (const auto cleared = parts_.artifacts.clear_incoming(); !cleared) {
      spdlog::warn("{}", cleared.error().text());
    }
  }
  parts_.events.begin(term_->last_event);
  parts_.control.begin(*std::move(term_->machine), *term_->writer);
  term_->machine.reset();
  term_->start_retention(parts_.options.retention, parts_.artifacts, parts_.metrics);
  parts_.metrics.leads(true, term_->leader ? term_->leader->epoch : 0);
  leads_ = true;
  if (!leadership_) return;
  spdlog::info("this coordinator leads the fleet in epoch {}", term_->leader->epoch);
  parts_.readiness.set("");
  parts_.began();
}

void Lead::end(const Error& why) {
  leads_ = false;
  const std::uint64_t epoch = term_ && term_->leader ? term_->leader->epoch : 0;
  spdlog::error("epoch {} is over for this coordinator, which stands by now: {}", epoch,
                why.text());
  parts_.readiness.set(why.what);
  parts_.control.end(not_ready(why.what));
  parts_.events.end();
  parts_.metrics.leads(false, epoch);
  term_.reset();
}

void Lead::lapsed() {
  store_lost({.code = Errc::lease_lost,
              .what = "this coordinator could not renew its lead in time",
              .detail = {},
              .hint = {}});
}

void Lead::store_lost(const Error& why) {
  if (!leadership_) {
    spdlog::critical("the store failed, the coordinator ends: {}", why.text());
    parts_.readiness.set("the store failed");
    return parts_.fatal(why);
  }
  if (term_) end(why);
  leadership_->give_up();
}

std::optional<Error> Lead::refuse(std::string_view route) const {
  // Nothing of the store, so a coordinator that stands by answers it as well.
  const bool needs_no_store =
      route == "/api/v1/version" || route == "/api/v1/schemas/campaign.json";
  if (leads_ || needs_no_store) return std::nullopt;
  return not_ready(parts_.readiness.why());
}

void Lead::stop() {
  leads_ = false;
  if (opening_.joinable()) {
    const auto until = std::chrono::steady_clock::now() + kOpeningMax;
    while (opening_runs_ && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    if (opening_runs_) {
      // A server that doesn't answer can't keep this process; nothing of its has begun.
      spdlog::error("the database doesn't answer; the coordinator ends without waiting for it");
      spdlog::default_logger()->flush();
      std::quick_exit(error_info(Errc::store_failed).exit_code);
    }
    opening_.join();
  }
  term_.reset();
  leadership_.reset();
}

}  // namespace cupel::coordinator
