#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace cupel {

/// Completion token of an operation whose error is looked at, not thrown:
/// `auto [error, size] = co_await socket.async_read_some(buffer, kNoThrow);`
inline constexpr auto kNoThrow = boost::asio::as_tuple(boost::asio::use_awaitable);

}  // namespace cupel
