/// Runs with a network on the real engine, behind a gate of the test's own.
#pragma once

#include "tests/integration/egress/host_services.hpp"
#include "tests/integration/sandbox/sandbox.hpp"
#include "worker/egress/gate.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cupel::test {

/// The first address of the host on an interface that is wanted.
[[nodiscard]] std::string address_where(const std::function<bool(const std::string&)>& wanted);
[[nodiscard]] std::string host_address();
/// Of the engine's default bridge; where there is none, the host's own.
[[nodiscard]] std::string default_bridge_address();

/// A line of the hostile program.
struct Row {
  std::string attack;
  bool reached = false;
  std::string what;
};
[[nodiscard]] std::vector<Row> rows_of(const std::string& output);

/// A table of docs/hostile-runs.md from these lines.
void compare_rows(const std::string& mark, const std::vector<Row>& rows, const std::string& engine);

/// What stands behind a mark in what was said, to the end of its line.
[[nodiscard]] std::string word_after(const std::string& said, const std::string& mark);

class EgressFixture : public SandboxTest {
 protected:
  EgressFixture() = default;
  explicit EgressFixture(Engine wanted) : SandboxTest(std::move(wanted)) {}
  void TearDown() override;

  static boost::asio::awaitable<bool> stop(worker::egress::Gate& gate);
  [[nodiscard]] std::unique_ptr<worker::egress::Gate> make_gate(
      worker::egress::Choice choice, worker::egress::Place place,
      std::map<worker::Profile, std::string> runtimes = {});
  /// The executor's runs go through it from now on.
  void use(worker::EgressPort& port);
  [[nodiscard]] worker::RunRequest acquire(const std::string& script) const;
  [[nodiscard]] std::string network_name() const;
  /// Runs the hostile program, which tries all that it knows; `foreign`: credentials of another
  /// run.
  [[nodiscard]] worker::RunReport attack(const std::string& peer_ip, const std::string& foreign,
                                         const std::vector<std::string>& more = {});
  /// Of an attack: every control was reached and nothing else, as the table of this mark says.
  void expect_held(const worker::RunReport& report, int visits_before, const std::string& mark);

  WorkerId worker_{fs::random_u64() >> 1U | 1U};
  std::uint64_t run_bytes_max_ = 16U << 10U;
  HostServices services_;
  std::unique_ptr<worker::egress::Gate> gate_;
};

/// A run under way beside the test, until cancelled.
class RunBeside {
 public:
  RunBeside(boost::asio::io_context& io, worker::RunPort& runs, worker::RunRequest request);
  /// Drives the context until the run said this, or ended: false.
  [[nodiscard]] bool said(const std::string& text);
  [[nodiscard]] const std::string& output() const { return said_; }
  [[nodiscard]] bool ended() const { return ended_; }
  worker::RunReport end();
  worker::RunReport report;

 private:
  boost::asio::io_context& io_;
  std::shared_ptr<worker::CancelToken> cancel_ = std::make_shared<worker::CancelToken>();
  std::string said_;
  bool ended_ = false;
};

}  // namespace cupel::test
