#include "worker/app/attempt.hpp"

namespace cupel::worker {

namespace asio = boost::asio;

asio::awaitable<TaskResult> TaskRunner::mutate(AttemptPtr attempt, Mutate /*work*/) {
  co_return answer(*attempt, Outcome::inconclusive, Reason::engine, "changes are not built in yet");
}

}  // namespace cupel::worker
