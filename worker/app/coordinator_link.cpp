#include "worker/app/coordinator_link.hpp"

#include "common/async/clock.hpp"
#include "common/fs/files.hpp"
#include "common/wire/codec.hpp"

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>
#include <variant>

namespace cupel::worker {

CoordinatorLink::CoordinatorLink(zmq::context_t& context, Loop& control, Loop& bulk,
                                 const Options& options, Callbacks callbacks)
    : context_(context),
      control_(control),
      bulk_(bulk),
      options_(options),
      callbacks_(std::move(callbacks)) {}

Result<void> CoordinatorLink::read_keys() {
  auto key = net::read_key_file(options_.key_file);
  if (!key) return key.error();
  key_ = std::move(*key);
  for (const CoordinatorAddress& coordinator : options_.coordinators) {
    const auto server = net::PublicKey::from_z85(coordinator.key);
    if (!server) {
      return Error{Errc::bad_config,
                   "setting coordinator_key is no key of 40 characters",
                   {},
                   "'cupel key show' on the coordinator prints it"};
    }
    servers_.push_back(*server);
  }
  return {};
}

Result<void> CoordinatorLink::connect() {
  lost_ = async::monotonic_now();
  coordinators_.emplace(
      CoordinatorsSettings{.count = options_.coordinators.size(), .random = fs::random_u64()},
      lost_);
  log_.emplace(options_.coordinators.front().control, key_.public_key.z85());
  if (auto connected = connect_control(); !connected) return connected;
  auto link = BulkLink::connect(bulk_.io(), context_, options_of(net::Plane::bulk));
  if (!link) return link.error();
  bulk_link_ = std::move(*link);
  bulk_link_->on_malformed([this] { callbacks_.malformed("bulk"); });
  return {};
}

net::DealerOptions CoordinatorLink::options_of(net::Plane plane) const {
  const CoordinatorAddress& coordinator = options_.coordinators.at(coordinators_->current());
  net::DealerOptions link;
  link.plane = plane;
  link.endpoint = plane == net::Plane::control ? coordinator.control : coordinator.bulk;
  link.key = key_;
  link.server = servers_.at(coordinators_->current());
  return link;
}

Result<void> CoordinatorLink::connect_control() {
  auto dealer = net::Dealer::connect(
      control_.io(), context_, options_of(net::Plane::control),
      [this](const std::string& bytes) { received(bytes); },
      [this](net::LinkState state) {
        spdlog::debug("control plane: {}", net::name(state));
        log_->state(state);
        callbacks_.state(state);
      });
  if (!dealer) return dealer.error();
  if (dealer_) dealer_->stop();
  dealer_ = std::move(*dealer);
  return {};
}

void CoordinatorLink::received(const std::string& bytes) {
  auto message = wire::decode_to_worker(bytes);
  if (!message) {
    callbacks_.malformed("control");
    spdlog::debug("a message of the coordinator is not understood: {}", message.error().text());
    return;
  }
  coordinators_->heard(async::monotonic_now());
  const auto* refuse = std::get_if<Refuse>(&*message);
  if (refuse != nullptr && refuse->code == Errc::not_ready) {
    coordinators_->turned_away(async::monotonic_now());
  }
  callbacks_.message(std::move(*message));
}

void CoordinatorLink::send(std::string_view bytes) {
  if (dealer_) (void)dealer_->send(bytes);
}

// Where there is a session, this is the one who leads; a new link begins with a hello.
bool CoordinatorLink::tick(bool in_session) {
  const TimePoint now = async::monotonic_now();
  bool moved = false;
  const bool linked = dealer_->state() == net::LinkState::connected;
  if (coordinators_->tick(in_session, linked, now)) {
    const std::string& endpoint = options_.coordinators.at(coordinators_->current()).control;
    spdlog::debug("the coordinator at {} is tried", endpoint);
    log_->move(endpoint);
    if (auto connected = connect_control(); connected) {
      moved = true;
      boost::asio::post(bulk_.io(), [this, options = options_of(net::Plane::bulk)] {
        if (auto other = bulk_link_->move(context_, options); !other) {
          spdlog::error("{}", other.error().text());
        }
      });
    } else {
      spdlog::error("{}", connected.error().text());
    }
  }
  if (dealer_->state() == net::LinkState::connected) {
    lost_ = now;
  } else {
    log_->silent(std::chrono::duration_cast<std::chrono::seconds>(now - lost_).count());
  }
  return moved;
}

void CoordinatorLink::set_session(std::uint64_t session) {
  boost::asio::post(bulk_.io(), [this, session] { bulk_link_->set_session(session); });
}

void CoordinatorLink::close() {
  dealer_->stop();
  bulk_link_.reset();
  dealer_.reset();
}

}  // namespace cupel::worker
