#include "common/text/document.hpp"
#include "common/text/document_builder.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace cupel::text {
namespace {

/// nlohmann's SAX events as builder calls. JSON has no places here: line 0.
class JsonEvents final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonEvents(DocumentBuilder& builder) : builder_(builder) {}

  bool null() override { return builder_.null(0, 0), true; }
  bool boolean(bool value) override { return plain(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return plain(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return plain(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return plain(text); }
  bool string(string_t& value) override {
    builder_.scalar(std::move(value), true, 0, 0);
    return true;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return builder_.begin(Node::Kind::map, 0, 0), true; }
  bool key(string_t& value) override {
    builder_.scalar(std::move(value), true, 0, 0);
    return true;
  }
  bool end_object() override { return builder_.end(), true; }
  bool start_array(std::size_t) override { return builder_.begin(Node::Kind::list, 0, 0), true; }
  bool end_array() override { return builder_.end(), true; }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    error_ = "not JSON at byte " + std::to_string(position) + ": " + error.what();
    return false;
  }

  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  bool plain(std::string text) {
    builder_.scalar(std::move(text), false, 0, 0);
    return true;
  }

  DocumentBuilder& builder_;
  std::string error_;
};

}  // namespace

Document read_json(std::string_view text, const std::string& file, const DocumentLimits& limits) {
  if (text.size() > limits.bytes) {
    return {std::nullopt,
            {{file, 0, 0, Errc::too_large,
              "the document has " + std::to_string(text.size()) + " bytes, at most " +
                  std::to_string(limits.bytes) + " are read",
              ""}}};
  }
  DocumentBuilder builder(file, limits);
  try {
    JsonEvents events(builder);
    if (nlohmann::json::sax_parse(text.begin(), text.end(), &events)) return builder.finish();
    return {std::nullopt, {{file, 0, 0, Errc::yaml_syntax, events.error(), ""}}};
  } catch (StopReading& stopped) {
    return {std::nullopt, {std::move(stopped.fault)}};
  }
}

}  // namespace cupel::text
