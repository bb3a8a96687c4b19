#include "common/wire/codec.hpp"

#include "common/wire/fields.hpp"

#include <array>
#include <cstring>
#include <optional>
// After fields.hpp, which mends what Cap'n Proto's headers need.
#include <capnp/serialize.h>
#include <kj/io.h>

namespace cupel::wire {
namespace {

using schema::Envelope;

Error malformed(std::string_view what) {
  return {.code = Errc::malformed_message,
          .what = "a message could not be read",
          .detail = capped_detail(what),
          .hint = {}};
}

Error mismatch(std::uint32_t protocol) {
  return {.code = Errc::protocol_mismatch,
          .what = "a message of protocol " + std::to_string(protocol) +
                  " could not be read; this program speaks up to " +
                  std::to_string(kProtocolVersionMax),
          .detail = {},
          .hint = {}};
}

constexpr std::size_t kSmallWords = 512;  // most control messages

template <typename Message>
std::string build(capnp::MessageBuilder& builder, const Message& message) {
  auto envelope = builder.initRoot<Envelope>();
  envelope.setProtocol(kProtocolVersionMax);
  write(envelope, message);
  std::string bytes(capnp::computeSerializedSizeInWords(builder) * sizeof(capnp::word), '\0');
  kj::ArrayOutputStream out(kj::arrayPtr(reinterpret_cast<kj::byte*>(bytes.data()), bytes.size()));
  capnp::writeMessage(out, builder);
  return bytes;
}

template <typename Message>
std::string encode_message(const Message& message, std::size_t bytes_expected) {
  const std::size_t words = bytes_expected / sizeof(capnp::word);
  if (words > kSmallWords) {
    capnp::MallocMessageBuilder builder(static_cast<unsigned>(words));
    return build(builder, message);
  }
  std::array<capnp::word, kSmallWords> first{};
  capnp::MallocMessageBuilder builder(kj::arrayPtr(first.data(), first.size()));
  return build(builder, message);
}

// The bytes as words: borrowed when they lie right, else copied (what ZeroMQ hands out seldom
// does).
class Words {
 public:
  explicit Words(std::string_view bytes) {
    const std::size_t size = bytes.size() / sizeof(capnp::word);
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(capnp::word) == 0) {
      words_ = kj::arrayPtr(reinterpret_cast<const capnp::word*>(bytes.data()), size);
      return;
    }
    copy_ = kj::heapArray<capnp::word>(size);
    std::memcpy(copy_.begin(), bytes.data(), bytes.size());
    words_ = copy_;
  }
  [[nodiscard]] kj::ArrayPtr<const capnp::word> get() const { return words_; }

 private:
  kj::Array<capnp::word> copy_;
  kj::ArrayPtr<const capnp::word> words_;
};

template <typename Value, typename Read>
Result<Value> decode_message(std::string_view bytes, std::size_t bytes_max, Read read_value) {
  if (bytes.size() > bytes_max) return malformed("longer than its plane allows");
  if (bytes.empty() || bytes.size() % sizeof(capnp::word) != 0) {
    return malformed("the length is no multiple of eight");
  }
  std::uint32_t protocol = 0;
  std::optional<Error> error;
  try {
    const Words words(bytes);
    capnp::ReaderOptions options;
    options.traversalLimitInWords = 4 * words.get().size() + 1024;
    options.nestingLimit = 16;
    capnp::FlatArrayMessageReader reader(words.get(), options);
    const auto envelope = reader.getRoot<Envelope>();
    protocol = envelope.getProtocol();
    // Readers are lazy: the walk has to end before this block does.
    Value value = read_value(envelope);
    if (reader.getEnd() == words.get().end()) return value;
    error = malformed("something follows the message");
  } catch (const Malformed& wrong) {
    error = malformed(wrong.what);
  } catch (const UnknownMember&) {
    error = mismatch(protocol);
  } catch (const kj::Exception& wrong) {
    error = malformed(wrong.getDescription().cStr());
  }
  if (protocol > kProtocolVersionMax) error = mismatch(protocol);
  return *std::move(error);
}

std::size_t bytes_of(const Finding& finding) {
  return 128 + finding.package.size() + finding.test.size() + finding.analyzer.size() +
         finding.file.size() + finding.message.size() + finding.environment.size() +
         finding.key.size() + finding.signature.size();
}

std::size_t findings_bytes(const std::vector<Finding>& findings) {
  std::size_t bytes = 0;
  for (const Finding& finding : findings) bytes += bytes_of(finding);
  return bytes;
}

}  // namespace

void write(Envelope::Builder out, const std::vector<Finding>& findings) {
  write(out.initStoredFindings(), findings);
}

void throw_wrong_member(Envelope::Reader in) {
  const auto newest = static_cast<std::uint16_t>(Envelope::STORED_FINDINGS);
  if (static_cast<std::uint16_t>(in.which()) > newest) throw UnknownMember{};
  throw Malformed{"a message that doesn't belong on this plane or in this direction"};
}

std::string encode(const ToCoordinator& message) {
  return encode_message(message, 4096);
}
std::string encode(const ToWorker& message) {
  return encode_message(message, 4096);
}
std::string encode(const BulkToCoordinator& message) {
  const auto* const chunk = std::get_if<PutChunk>(&message);
  return encode_message(message, 1024 + (chunk == nullptr ? 0 : chunk->bytes.size()));
}
std::string encode(const BulkToWorker& message) {
  const auto* const chunk = std::get_if<GetChunk>(&message);
  return encode_message(message, 1024 + (chunk == nullptr ? 0 : chunk->bytes.size()));
}

Result<ToCoordinator> decode_to_coordinator(std::string_view bytes) {
  return decode_message<ToCoordinator>(bytes, kControlMessageBytesMax, read_to_coordinator);
}
Result<ToWorker> decode_to_worker(std::string_view bytes) {
  return decode_message<ToWorker>(bytes, kControlMessageBytesMax, read_to_worker);
}
Result<BulkToCoordinator> decode_bulk_to_coordinator(std::string_view bytes) {
  return decode_message<BulkToCoordinator>(bytes, kBulkMessageBytesMax, read_bulk_to_coordinator);
}
Result<BulkToWorker> decode_bulk_to_worker(std::string_view bytes) {
  return decode_message<BulkToWorker>(bytes, kBulkMessageBytesMax, read_bulk_to_worker);
}

std::string encode_result(const TaskResult& result) {
  return encode(ResultMessage{result});
}

Result<TaskResult> decode_result(std::string_view bytes) {
  // A file, not a message: findings may still be inline there, whatever their size.
  return decode_message<TaskResult>(bytes, kArtifactBytesMax, [](Envelope::Reader in) {
    if (in.which() != Envelope::RESULT) throw_wrong_member(in);
    return read(in.getResult());
  });
}

std::optional<std::string> split_findings(TaskResult& result) {
  if (result.findings.size() > kFindingsPerResultMax) {
    result.findings.resize(kFindingsPerResultMax);
    result.findings_truncated = true;
  }
  if (findings_bytes(result.findings) <= kResultInlineFindingsBytesMax) return std::nullopt;
  std::string artifact = encode_message(result.findings, findings_bytes(result.findings));
  result.findings_artifact = sha256(artifact);
  std::size_t kept = 0;
  for (std::size_t bytes = 0; kept < result.findings.size(); ++kept) {
    bytes += bytes_of(result.findings[kept]);
    if (bytes > kResultInlineFindingsBytesMax) break;
  }
  result.findings.resize(kept);
  return artifact;
}

Result<void> join_findings(TaskResult& result, std::string_view artifact) {
  if (sha256(artifact) != result.findings_artifact) {
    return Error{.code = Errc::artifact_mismatch,
                 .what = "the findings of task " + result.task.text() +
                         " are not those that its result names",
                 .detail = {},
                 .hint = {}};
  }
  auto findings =
      decode_message<std::vector<Finding>>(artifact, kArtifactBytesMax, [](Envelope::Reader in) {
        if (in.which() != Envelope::STORED_FINDINGS) throw_wrong_member(in);
        return read(in.getStoredFindings());
      });
  if (!findings) return std::move(findings).error();
  result.findings = *std::move(findings);
  return {};
}

}  // namespace cupel::wire
