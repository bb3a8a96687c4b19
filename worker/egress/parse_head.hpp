/// The head of a request to the egress proxy, by the HTTP library's parser.
#pragma once

#include "common/core/error.hpp"
#include "worker/core/egress/request.hpp"

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

#include <cstdint>
#include <string_view>

namespace cupel::worker::egress {

inline constexpr std::uint32_t kHeadBytesMax = 8 * 1024;

using HeadParser = boost::beast::http::request_parser<boost::beast::http::empty_body>;

/// The parser as the proxy uses it: bounded, and done with the head.
void configure(HeadParser& parser);

[[nodiscard]] ProxyHead head_of(const HeadParser& parser);

/// All of a head at once. Errors: bad_value where the parser refuses it, or it isn't whole.
[[nodiscard]] Result<ProxyHead> parse_head(std::string_view bytes);

}  // namespace cupel::worker::egress
