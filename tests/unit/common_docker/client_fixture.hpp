/// A client that speaks to a scripted engine, and what it observed of its calls.
#pragma once

#include "common/docker/client.hpp"
#include "tests/unit/common_docker/fake_engine.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace cupel::docker {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using std::chrono::steady_clock;
using test::FakeEngine;
using test::plain;
using test::Play;
using ::testing::HasSubstr;

inline constexpr Duration kBudget = 80ms;

/// Every budget is long but the one that the test sets.
inline EngineBudgets long_budgets() {
  EngineBudgets all;
  for (Duration* const one : {&all.ping, &all.version, &all.create, &all.attach, &all.start,
                              &all.wait_head, &all.kill, &all.second_wait, &all.logs, &all.inspect,
                              &all.remove, &all.list, &all.image, &all.transfer}) {
    *one = 20s;
  }
  return all;
}

class ClientTest : public ::testing::Test {
 protected:
  template <typename T>
  T await(Awaitable<T> task) {
    std::optional<T> value;
    asio::co_spawn(io, std::move(task), [&](const std::exception_ptr& failure, T result) {
      if (failure) std::rethrow_exception(failure);
      value.emplace(std::move(result));
    });
    io.restart();
    while (!value && io.run_one() > 0) {
    }
    return std::move(*value);
  }

  Client& client(std::vector<Play> script, EngineBudgets budgets = long_budgets()) {
    engine = std::make_unique<FakeEngine>(io, std::move(script));
    ClientOptions options{.socket_path = engine->path(), .budgets = budgets};
    options.observer = [this](const CallObservation& one) { seen.push_back(one); };
    client_ = std::make_unique<Client>(io.get_executor(), std::move(options));
    return *client_;
  }

  asio::io_context io{1};
  std::unique_ptr<FakeEngine> engine;
  std::vector<CallObservation> seen;

 private:
  std::unique_ptr<Client> client_;
};

}  // namespace cupel::docker
