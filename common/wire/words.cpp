#include "common/wire/words.hpp"

#include "common/wire/kj_compare.hpp"
// The generated header needs the line above before it.
#include <capnp/schema.h>

#include <string>
#include <vector>
#include <words.capnp.h>

namespace cupel::wire {
namespace {

std::string snake_case(kj::StringPtr camel) {
  std::string snake;
  for (const char c : camel) {
    if (c >= 'A' && c <= 'Z') snake.push_back('_');
    snake.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return snake;
}

template <typename Value>
class Table {
 public:
  explicit Table(capnp::EnumSchema schema) : numbers_(count_of<Value>(), 0) {
    for (const auto enumerant : schema.getEnumerants()) {
      const auto value = parse_name<Value>(snake_case(enumerant.getProto().getName()));
      words_.push_back(value);
      if (value) numbers_.at(static_cast<std::size_t>(*value)) = enumerant.getOrdinal();
    }
  }
  [[nodiscard]] std::uint16_t number(Value value) const {
    return numbers_.at(static_cast<std::size_t>(value));
  }
  [[nodiscard]] std::optional<Value> word(std::uint16_t number) const {
    return number < words_.size() ? words_[number] : std::nullopt;
  }

 private:
  std::vector<std::uint16_t> numbers_;
  std::vector<std::optional<Value>> words_;
};

template <typename Value, typename Wire>
const Table<Value>& table() {
  static const Table<Value> kTable(capnp::Schema::from<Wire>());
  return kTable;
}

template <typename Value>
std::optional<Value> small_list(std::uint16_t number, Value last) {
  if (number > static_cast<std::uint16_t>(last)) return std::nullopt;
  return static_cast<Value>(number);
}

}  // namespace

// clang-format off
std::uint16_t wire_number(TaskKind value) { return table<TaskKind, schema::TaskKind>().number(value); }
std::uint16_t wire_number(Side value) { return table<Side, schema::Side>().number(value); }
std::uint16_t wire_number(CheckKind value) { return table<CheckKind, schema::CheckKind>().number(value); }
std::uint16_t wire_number(Stream value) { return table<Stream, schema::Stream>().number(value); }
std::uint16_t wire_number(Outcome value) { return table<Outcome, schema::Outcome>().number(value); }
std::uint16_t wire_number(Reason value) { return table<Reason, schema::Reason>().number(value); }
std::uint16_t wire_number(FindingKind value) { return table<FindingKind, schema::FindingKind>().number(value); }
std::uint16_t wire_number(Select value) { return table<Select, schema::Select>().number(value); }
std::uint16_t wire_number(VulnLevel value) { return table<VulnLevel, schema::VulnLevel>().number(value); }
std::uint16_t wire_number(CheckParser value) { return table<CheckParser, schema::CheckParser>().number(value); }
std::uint16_t wire_number(NotAffected value) { return table<NotAffected, schema::NotAffected>().number(value); }
std::uint16_t wire_number(Gate value) { return table<Gate, schema::Gate>().number(value); }
std::uint16_t wire_number(Ending value) { return static_cast<std::uint16_t>(value); }
std::uint16_t wire_number(BuildCache value) { return static_cast<std::uint16_t>(value); }

template <> std::optional<TaskKind> word_of<TaskKind>(std::uint16_t number) { return table<TaskKind, schema::TaskKind>().word(number); }
template <> std::optional<Side> word_of<Side>(std::uint16_t number) { return table<Side, schema::Side>().word(number); }
template <> std::optional<CheckKind> word_of<CheckKind>(std::uint16_t number) { return table<CheckKind, schema::CheckKind>().word(number); }
template <> std::optional<Stream> word_of<Stream>(std::uint16_t number) { return table<Stream, schema::Stream>().word(number); }
template <> std::optional<Outcome> word_of<Outcome>(std::uint16_t number) { return table<Outcome, schema::Outcome>().word(number); }
template <> std::optional<Reason> word_of<Reason>(std::uint16_t number) { return table<Reason, schema::Reason>().word(number); }
template <> std::optional<FindingKind> word_of<FindingKind>(std::uint16_t number) { return table<FindingKind, schema::FindingKind>().word(number); }
template <> std::optional<Select> word_of<Select>(std::uint16_t number) { return table<Select, schema::Select>().word(number); }
template <> std::optional<VulnLevel> word_of<VulnLevel>(std::uint16_t number) { return table<VulnLevel, schema::VulnLevel>().word(number); }
template <> std::optional<CheckParser> word_of<CheckParser>(std::uint16_t number) { return table<CheckParser, schema::CheckParser>().word(number); }
template <> std::optional<NotAffected> word_of<NotAffected>(std::uint16_t number) { return table<NotAffected, schema::NotAffected>().word(number); }
template <> std::optional<Gate> word_of<Gate>(std::uint16_t number) { return table<Gate, schema::Gate>().word(number); }
template <> std::optional<Ending> word_of<Ending>(std::uint16_t number) { return small_list(number, Ending::lost_workspace); }
template <> std::optional<BuildCache> word_of<BuildCache>(std::uint16_t number) { return small_list(number, BuildCache::dependencies); }
// clang-format on

}  // namespace cupel::wire
