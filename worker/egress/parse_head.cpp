#include "worker/egress/parse_head.hpp"

#include <boost/asio/buffer.hpp>

namespace cupel::worker::egress {

void configure(HeadParser& parser) {
  parser.header_limit(kHeadBytesMax);
  parser.eager(false);
}

ProxyHead head_of(const HeadParser& parser) {
  const auto& message = parser.get();
  ProxyHead head{.method = std::string(message.method_string()),
                 .target = std::string(message.target()),
                 .version = message.version(),
                 .headers = {}};
  for (const auto& field : message) {
    head.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  return head;
}

Result<ProxyHead> parse_head(std::string_view bytes) {
  HeadParser parser;
  configure(parser);
  boost::system::error_code failure;
  (void)parser.put(boost::asio::buffer(bytes.data(), bytes.size()), failure);
  if (failure || !parser.is_header_done()) {
    return Error{.code = Errc::bad_value,
                 .what = "no whole head of an HTTP request",
                 .detail = failure.message(),
                 .hint = {}};
  }
  return head_of(parser);
}

}  // namespace cupel::worker::egress
