/// The floor of an engine run: the bare HTTP calls, made one after the other with blocking sockets
/// and without any checking. What a run can't be faster than.
#pragma once

#include <string>

namespace cupel::bench {

/// create, attach, orders, start, wait, logs, inspect, remove of one container. Throws on any
/// surprise.
void raw_run(const std::string& socket_path, const std::string& name, const std::string& spec,
             const std::string& orders);

}  // namespace cupel::bench
