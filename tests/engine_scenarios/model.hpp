/// The healthy engine behind a scenario: its containers, what they write, and what its calls do to
/// them. Knows no sockets. Single-threaded, on the executor's thread.
#pragma once

#include "tests/engine_scenarios/calls.hpp"
#include "tests/engine_scenarios/scenario.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cupel::scenarios {

/// What an engine says of a process that KILL ended: 128 + 9.
constexpr int kKilledCode = 137;

struct Container {
  Container(boost::asio::any_io_executor executor, std::string its_id, std::string its_name)
      : id(std::move(its_id)),
        name(std::move(its_name)),
        changed(executor, std::chrono::steady_clock::time_point::max()),
        nap(executor) {}

  std::string id;
  std::string name;
  std::map<std::string, std::string> labels;
  std::string image;
  std::string state = "created";
  std::int64_t exit_code = 0;
  bool oom_killed = false;
  bool gone = false;
  std::chrono::system_clock::time_point created;
  std::chrono::system_clock::time_point started;
  std::chrono::system_clock::time_point finished;
  const Program* program = nullptr;
  std::string orders;               ///< What came on stdin.
  std::string nonce;                ///< From the orders, once they are whole.
  std::string order;                ///< "order" or "eof": the wrapper was told to end.
  std::vector<std::string> frames;  ///< All that it wrote, as the engine stores and passes it on.
  std::uint64_t out_bytes = 0;      ///< The wrapper's counts.
  std::uint64_t err_bytes = 0;
  boost::asio::steady_timer changed;  ///< Cancelled at every change.
  boost::asio::steady_timer nap;      ///< A pause of its program.

  [[nodiscard]] bool runs() const {
    return state == "running" || state == "paused" || state == "restarting";
  }
  void notify() { changed.cancel(); }
  [[nodiscard]] boost::asio::awaitable<void> until_changed();
  /// Bytes on stdin; an empty piece is its end.
  void take_stdin(std::string_view bytes);
};
using ContainerPtr = std::shared_ptr<Container>;

/// As the engine and the labels of its containers write a time.
[[nodiscard]] std::int64_t unix_seconds(std::chrono::system_clock::time_point when);

struct Reply {
  unsigned status = 200;
  std::string body;  ///< JSON, or empty.
};

class Model : public std::enable_shared_from_this<Model> {
 public:
  Model(boost::asio::any_io_executor executor, EngineSetup setup, WorkerSetup worker);

  [[nodiscard]] ContainerPtr find(const std::string& id_or_name) const;
  /// The container that a request's path names; null for others.
  [[nodiscard]] ContainerPtr of(const RecordedCall& call) const;
  [[nodiscard]] std::size_t count() const { return containers_.size(); }
  [[nodiscard]] std::size_t running() const;

  /// Does what the call asks and says how the engine would answer. Streams (attach, wait, logs)
  /// only say whether they can begin (status 200 or 101).
  [[nodiscard]] Reply handle(const RecordedCall& call);
  void apply(const ContainerPart& part, const ContainerPtr& self);
  void set_versions(const std::string& api, const std::string& min_api);
  /// Placeholders of a text; counts the payload of ${start} and ${end} as no output.
  [[nodiscard]] static std::string expand(const std::string& text, const ContainerPtr& container);

  [[nodiscard]] static std::string frame(unsigned stream, std::string_view payload,
                                         std::optional<std::uint32_t> length = std::nullopt);
  [[nodiscard]] static std::string error_body(std::string_view message);

 private:
  [[nodiscard]] Reply create(const RecordedCall& call);
  [[nodiscard]] Reply start(const ContainerPtr& container);
  [[nodiscard]] Reply kill(const ContainerPtr& container);
  [[nodiscard]] Reply remove(const ContainerPtr& container, bool force);
  [[nodiscard]] Reply list(const RecordedCall& call) const;
  [[nodiscard]] Reply of_container(const RecordedCall& call, const ContainerPtr& container);
  [[nodiscard]] Reply image(const std::string& name) const;
  [[nodiscard]] std::optional<Reply> refuse_version(const RecordedCall& call) const;
  void add_old(const OldContainer& old, const std::string& suffix);
  void drop(const ContainerPtr& container);

  boost::asio::any_io_executor executor_;
  EngineSetup setup_;
  WorkerSetup worker_;
  std::map<std::string, ContainerPtr> containers_;
  std::uint64_t created_ = 0;
};

/// Plays the program of a started container to its end.
[[nodiscard]] boost::asio::awaitable<void> play(ContainerPtr container);

/// The identity of the one image that the engine has.
inline constexpr const char* kImage =
    "sha256:1111111111111111111111111111111111111111111111111111111111111111";

}  // namespace cupel::scenarios
