// What a network namespace leads to, seen from inside.
#pragma once

#include <stddef.h>

namespace cupel::wrapper {

/// "port=43210 net=net:[4026531840] found=-", or in place of '-' what was found, separated by
/// commas: interfaces that are up, addresses and routes beside loopback's, destinations that a
/// socket can be connected to. `port` 0: none is held. Returns the length.
size_t describe_enclosure(unsigned port, char* text, size_t capacity);

}  // namespace cupel::wrapper
