#include "worker/core/go/test_event.hpp"

#include "worker/core/go/text.hpp"

#include <nlohmann/json.hpp>

namespace cupel::worker::go {
namespace {

// Takes the known members of the outermost object and builds no tree, so that a hostile line costs
// no more memory than its own length.
class EventReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit EventReader(TestEvent& event) : event_(event) {}

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool string(string_t& text) override {
    if (depth_ == 1 && target_ != nullptr) *target_ = std::move(text);
    return value();
  }
  bool start_object(std::size_t) override { return enter(); }
  bool start_array(std::size_t) override { return depth_ > 0 && enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool key(string_t& name) override {
    if (depth_ == 1) target_ = member(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  static constexpr int kDepthMax = 32;

  bool enter() {
    ++depth_;
    return depth_ <= kDepthMax;
  }

  bool value() const { return depth_ > 0; }  // A bare value is no event.
  bool leave() {
    --depth_;
    if (depth_ == 1) target_ = nullptr;
    return true;
  }
  std::string* member(const std::string& name) {
    if (name == "Action") return &event_.action;
    if (name == "Package") return &event_.package;
    if (name == "Output") return &event_.output;
    if (name == "ImportPath") return &event_.import_path;
    if (name == "FailedBuild") return &event_.failed_build;
    if (name != "Test") return nullptr;
    event_.has_test = true;
    return &event_.test;
  }

  TestEvent& event_;
  std::string* target_ = nullptr;
  int depth_ = 0;
};

}  // namespace

std::optional<TestEvent> parse_event(std::string_view line) {
  const std::string_view body = trim(line);
  if (!body.starts_with('{') || !body.ends_with('}')) return std::nullopt;
  const std::string text = to_utf8(body);
  TestEvent event;
  EventReader reader(event);
  if (!nlohmann::json::sax_parse(text, &reader)) return std::nullopt;
  event.package = clean_name(event.package);
  event.test = clean_name(event.test);
  event.import_path = clean_name(event.import_path);
  event.failed_build = clean_name(event.failed_build);
  return event;
}

}  // namespace cupel::worker::go
