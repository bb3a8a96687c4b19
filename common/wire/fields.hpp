/// Private to common/wire: single fields <-> values, with their checks. What is wrong in a message
/// is thrown as Malformed and caught in one place (codec.cpp), since Cap'n Proto's readers are lazy
/// and throw while fields are read anyway.
#pragma once

#include "common/wire/kj_compare.hpp"
// The generated headers need the line above before them.
#include "common/core/digest.hpp"
#include "common/core/limits.hpp"
#include "common/core/message.hpp"
#include "common/core/utf8.hpp"
#include "common/wire/words.hpp"

#include <capnp/message.h>

#include <algorithm>
#include <cstdint>
#include <envelope.capnp.h>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::wire {

struct Malformed {
  std::string what;
};

// Limits of single fields that limits.hpp doesn't name. All are far above what an honest peer
// sends.
inline constexpr std::size_t kArgumentBytesMax = 64 * 1024;
inline constexpr std::size_t kListMax = 1000;
inline constexpr std::size_t kVulnerabilitiesMax = 2000;
inline constexpr std::size_t kModuleMovesMax = 2000;
inline constexpr std::size_t kLeasesMax = 10'000;
inline constexpr std::size_t kLogTailBytesMax = 16 * 1024;

// ---- writing ---------------------------------------------------------------------------------

/// A text on its way into a message: unclean bytes are replaced, and what is for people is cut, so
/// that a message of ours is never refused for what a tool has printed. Lives until the end of the
/// expression.
class Text {
 public:
  explicit Text(const std::string& text, std::size_t bytes_max = std::string::npos) {
    if (text.size() <= bytes_max && is_clean_text(text)) {
      reader_ = capnp::Text::Reader(text.c_str(), text.size());
    } else {
      owned_ = clean_text(text, bytes_max);
      reader_ = capnp::Text::Reader(owned_.c_str(), owned_.size());
    }
  }
  operator capnp::Text::Reader() const { return reader_; }

 private:
  std::string owned_;
  capnp::Text::Reader reader_;
};

/// Cut to the length that a decoder takes. For what tools and people said, never for what is
/// executed.
[[nodiscard]] inline Text cut(const std::string& text) {
  return Text(text, kNameBytesMax);
}

[[nodiscard]] inline capnp::Data::Reader data(const std::string& bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}
[[nodiscard]] inline capnp::Data::Reader data(const Digest& digest) {
  if (digest.empty()) return {};
  return {digest.bytes.data(), digest.bytes.size()};
}

template <typename Wire, typename Value>
[[nodiscard]] Wire word(Value value) {
  return static_cast<Wire>(wire_number(value));
}

template <typename Init>
void put_texts(const std::vector<std::string>& texts, std::size_t bytes_max, Init init) {
  auto list = init(static_cast<unsigned>(texts.size()));
  for (unsigned i = 0; i < list.size(); ++i) list.set(i, Text(texts[i], bytes_max));
}

// ---- reading ---------------------------------------------------------------------------------

[[nodiscard]] inline std::string text(capnp::Text::Reader reader, const char* what,
                                      std::size_t bytes_max = kNameBytesMax) {
  const std::string_view view(reader.begin(), reader.size());
  if (view.size() > bytes_max) throw Malformed{std::string(what) + " is too long"};
  if (!is_clean_text(view)) throw Malformed{std::string(what) + " is no clean UTF-8"};
  return std::string(view);
}

[[nodiscard]] inline std::string bytes(capnp::Data::Reader reader, const char* what,
                                       std::size_t bytes_max) {
  if (reader.size() > bytes_max) throw Malformed{std::string(what) + " is too long"};
  return {reinterpret_cast<const char*>(reader.begin()), reader.size()};
}

[[nodiscard]] inline Digest digest(capnp::Data::Reader reader, const char* what) {
  Digest value;
  if (reader.size() == 0) return value;
  if (reader.size() != value.bytes.size()) {
    throw Malformed{std::string(what) + " is no SHA-256 digest"};
  }
  std::copy(reader.begin(), reader.end(), value.bytes.begin());
  return value;
}

template <typename Value, typename Wire>
[[nodiscard]] Value word_from(Wire wire, const char* what) {
  const auto value = word_of<Value>(static_cast<std::uint16_t>(wire));
  if (!value) throw Malformed{std::string(what) + " has a word that is not in its list"};
  return *value;
}

[[nodiscard]] inline WallTime wall_time(std::int64_t us, const char* what) {
  constexpr std::int64_t kYear10000 = 253'402'300'800'000'000;
  if (us < 0 || us >= kYear10000) throw Malformed{std::string(what) + " is no time"};
  return {us};
}

/// Applies `read` to every element of a list that has at most `max` of them.
template <typename Value, typename List, typename Read>
[[nodiscard]] std::vector<Value> list(const List& reader, std::size_t max, const char* what,
                                      Read read) {
  if (reader.size() > max) throw Malformed{std::string(what) + " has too many entries"};
  std::vector<Value> values;
  values.reserve(reader.size());
  for (const auto& item : reader) values.push_back(read(item));
  return values;
}

[[nodiscard]] inline std::vector<std::string> texts(capnp::List<capnp::Text>::Reader reader,
                                                    const char* what,
                                                    std::size_t bytes_max = kNameBytesMax) {
  return list<std::string>(reader, kListMax, what,
                           [&](capnp::Text::Reader item) { return text(item, what, bytes_max); });
}

// ---- messages --------------------------------------------------------------------------------
// One pair for each struct of the schema that another file needs; the rest is local to its file.

void write(schema::Source::Builder out, const Source& value);
void write(schema::ModuleTarget::Builder out, const ModuleTarget& value);
void write(schema::Change::Builder out, const Change& value);
void write(schema::ToolPin::Builder out, const ToolPin& value);
void write(schema::ScanInput::Builder out, const ScanInput& value);
void write(schema::Vulnerability::Builder out, const Vulnerability& value);
void write(schema::ChangeFacts::Builder out, const ChangeFacts& value);
void write(schema::ScanFacts::Builder out, const ScanFacts& value);
void write(schema::ToolFacts::Builder out, const ToolFacts& value);
[[nodiscard]] Source read(schema::Source::Reader in);
[[nodiscard]] Change read(schema::Change::Reader in);
[[nodiscard]] ToolPin read(schema::ToolPin::Reader in);
[[nodiscard]] ScanInput read(schema::ScanInput::Reader in);
[[nodiscard]] ChangeFacts read(schema::ChangeFacts::Reader in);
[[nodiscard]] ScanFacts read(schema::ScanFacts::Reader in);
[[nodiscard]] ToolFacts read(schema::ToolFacts::Reader in);
[[nodiscard]] std::vector<ModuleTarget> read_targets(capnp::List<schema::ModuleTarget>::Reader in,
                                                     const char* what);
[[nodiscard]] std::vector<Vulnerability> read_vulnerabilities(
    capnp::List<schema::Vulnerability>::Reader in);

/// For element types whose write() is declared above.
template <typename Value, typename Init>
void put_list(const std::vector<Value>& values, Init init) {
  auto list = init(static_cast<unsigned>(values.size()));
  for (unsigned i = 0; i < list.size(); ++i) write(list[i], values[i]);
}

void write(schema::TaskSpec::Builder out, const TaskSpec& value);
void write(schema::TaskResult::Builder out, const TaskResult& value);
void write(schema::Findings::Builder out, const std::vector<Finding>& value);
[[nodiscard]] TaskSpec read(schema::TaskSpec::Reader in);
[[nodiscard]] TaskResult read(schema::TaskResult::Reader in);
[[nodiscard]] std::vector<Finding> read(schema::Findings::Reader in);

void write(schema::LiveLease::Builder out, const LiveLease& value);
[[nodiscard]] LiveLease read(schema::LiveLease::Reader in);
[[nodiscard]] std::uint16_t errc_number(Errc code);
/// A code that this version doesn't know says no more than that something was refused.
[[nodiscard]] Errc errc_from(std::uint16_t number);

void write(schema::Envelope::Builder out, const ToCoordinator& message);
void write(schema::Envelope::Builder out, const ToWorker& message);
void write(schema::Envelope::Builder out, const BulkToCoordinator& message);
void write(schema::Envelope::Builder out, const BulkToWorker& message);
void write(schema::Envelope::Builder out, const std::vector<Finding>& findings);

// Each throws Malformed for a member of another plane or direction, and UnknownMember for one that
// this version's schema doesn't have.
struct UnknownMember {};
[[nodiscard]] ToCoordinator read_to_coordinator(schema::Envelope::Reader in);
[[nodiscard]] ToWorker read_to_worker(schema::Envelope::Reader in);
[[nodiscard]] BulkToCoordinator read_bulk_to_coordinator(schema::Envelope::Reader in);
[[nodiscard]] BulkToWorker read_bulk_to_worker(schema::Envelope::Reader in);
[[noreturn]] void throw_wrong_member(schema::Envelope::Reader in);

}  // namespace cupel::wire
