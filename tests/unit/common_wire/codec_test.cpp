#include "common/wire/codec.hpp"

#include "common/core/limits.hpp"
#include "tests/support/messages.hpp"

#include <gtest/gtest.h>

namespace cupel::wire {
namespace {

using tests::fill;
using tests::same;

TaskResult filled_result() {
  TaskResult result;
  std::uint64_t seed = 0;
  fill(result, seed);
  return result;
}

template <typename Messages, typename Decode>
void expect_round_trips(const Messages& messages, Decode decode) {
  for (const auto& message : messages) {
    const auto back = decode(encode(message));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_TRUE(same(message, *back)) << "alternative " << message.index();
  }
}

TEST(Codec, KeepsEveryMemberOfEveryMessage) {
  expect_round_trips(tests::messages_to_coordinator(), decode_to_coordinator);
  expect_round_trips(tests::messages_to_worker(), decode_to_worker);
  expect_round_trips(tests::bulk_messages_to_coordinator(), decode_bulk_to_coordinator);
  expect_round_trips(tests::bulk_messages_to_worker(), decode_bulk_to_worker);
}

TEST(Codec, KeepsEveryKindOfChange) {
  for (const Change& change : tests::filled_alternatives(Change())) {
    Lease lease;
    lease.spec.work = Mutate{.commit = "c",
                             .unit = {},
                             .change = change,
                             .variant = 0,
                             .resolved = {},
                             .vulnerabilities = {}};
    const auto back = decode_to_worker(encode(ToWorker(lease)));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_TRUE(same(ToWorker(lease), *back)) << kind_of(change);
  }
}

TEST(Codec, KeepsDefaults) {
  const auto hello = decode_to_coordinator(encode(ToCoordinator(Hello())));
  const auto result = decode_result(encode_result(TaskResult()));
  const auto lease = decode_to_worker(encode(ToWorker(Lease())));

  EXPECT_TRUE(same(ToCoordinator(Hello()), hello.value()));
  EXPECT_TRUE(same(TaskResult(), result.value()));
  EXPECT_TRUE(same(ToWorker(Lease()), lease.value()));
}

TEST(Codec, KeepsAResultForTheOutbox) {
  const TaskResult result = filled_result();

  EXPECT_TRUE(same(result, decode_result(encode_result(result)).value()));
}

TEST(Codec, ReadsBytesAtEveryAlignment) {
  const std::string bytes = encode(ToCoordinator(ResultMessage{filled_result()}));
  for (std::size_t shift = 0; shift < 8; ++shift) {
    std::string shifted(shift, 'x');
    shifted += bytes;

    EXPECT_TRUE(decode_to_coordinator(std::string_view(shifted).substr(shift)));
  }
}

TEST(Codec, RefusesAMessageOfAnotherPlaneOrDirection) {
  const std::string lease = encode(ToWorker(Lease()));
  const std::string chunk = encode(BulkToCoordinator(PutChunk()));

  EXPECT_EQ(decode_to_coordinator(lease).error().code, Errc::malformed_message);
  EXPECT_EQ(decode_bulk_to_worker(lease).error().code, Errc::malformed_message);
  EXPECT_EQ(decode_to_worker(chunk).error().code, Errc::malformed_message);
  EXPECT_EQ(decode_result(lease).error().code, Errc::malformed_message);
}

TEST(Codec, ReplacesWhatIsNoTextAndCutsWhatToolsSaid) {
  TaskResult result;
  Finding finding;
  finding.message = std::string("nul ") + '\0' + " bad \xFF";
  finding.test = std::string(kNameBytesMax - 1, 'a') + "\u00e9";
  result.findings.push_back(finding);
  result.evidence.notes.push_back(std::string(10'000, 'n'));

  const TaskResult back = decode_result(encode_result(result)).value();

  EXPECT_EQ(back.findings.at(0).message, "nul \uFFFD bad \uFFFD");
  EXPECT_EQ(back.findings.at(0).test, std::string(kNameBytesMax - 1, 'a'));
  EXPECT_EQ(back.evidence.notes.at(0).size(), kNameBytesMax);
}

TEST(Codec, NeverCutsWhatIsExecuted) {
  Lease lease;
  lease.spec.work = AcquireSource{GitSource{std::string(kNameBytesMax + 1, 'u'), ""}, "", {}};
  EXPECT_EQ(decode_to_worker(encode(ToWorker(lease))).error().code, Errc::malformed_message);

  lease.spec.work = NoOp{};
  lease.spec.settings.custom.push_back({"long", {"sh", "-c", std::string(60'000, 'x')}, 60});
  EXPECT_TRUE(decode_to_worker(encode(ToWorker(lease))));
  lease.spec.settings.custom.at(0).command.at(2).resize(70'000, 'x');
  EXPECT_EQ(decode_to_worker(encode(ToWorker(lease))).error().code, Errc::malformed_message);
}

TEST(Codec, RefusesListsOverTheirLimits) {
  TaskResult result;
  result.source.emplace().units.resize(kUnitsPerRepositoryMax);
  EXPECT_TRUE(decode_result(encode_result(result)));
  result.source->units.emplace_back();
  EXPECT_EQ(decode_result(encode_result(result)).error().detail,
            "source.units has too many entries");

  TaskResult many;
  many.findings.resize(kFindingsPerResultMax + 1);
  EXPECT_EQ(decode_result(encode_result(many)).error().detail, "findings has too many entries");
}

TEST(Codec, RefusesAControlMessageOverItsLimit) {
  TaskResult result;
  result.findings.resize(kFindingsPerResultMax);
  for (Finding& finding : result.findings) finding.message = std::string(200, 'm');

  const std::string bytes = encode_result(result);

  EXPECT_GT(bytes.size(), kControlMessageBytesMax);
  EXPECT_EQ(decode_to_coordinator(bytes).error().code, Errc::malformed_message);
  EXPECT_TRUE(decode_result(bytes)) << "the outbox may hold it";
}

TEST(Codec, RefusesTimesThatNoRecordCanHold) {
  TaskResult result;
  result.finished = WallTime{INT64_MAX};
  EXPECT_EQ(decode_result(encode_result(result)).error().detail, "finished is no time");
  result.finished = WallTime{-1};
  EXPECT_EQ(decode_result(encode_result(result)).error().detail, "finished is no time");
}

TEST(Codec, RefusesATransferWithoutADigest) {
  PutBegin put;
  EXPECT_EQ(decode_bulk_to_coordinator(encode(BulkToCoordinator(put))).error().detail,
            "digest is missing");
}

TEST(Codec, ReadsAnErrorCodeOfANewerVersionAsARefusal) {
  const Refuse refuse{static_cast<Errc>(4999), "too new", 5};

  const auto back = decode_to_worker(encode(ToWorker(refuse))).value();

  EXPECT_EQ(std::get<Refuse>(back).code, Errc::refused_by_policy);
  EXPECT_EQ(std::get<Refuse>(back).text, "too new");
}

TEST(SplitFindings, LeavesSmallOnesInline) {
  TaskResult result = filled_result();
  result.findings_artifact = {};

  EXPECT_FALSE(split_findings(result));
  EXPECT_EQ(result.findings.size(), 2U);
}

TEST(SplitFindings, MovesLargeOnesIntoAnArtifactAndBack) {
  TaskResult result = filled_result();
  result.findings.assign(9'000, result.findings.at(0));
  for (Finding& finding : result.findings) finding.message = std::string(500, 'm');
  TaskResult whole = result;

  const auto artifact = split_findings(result);

  ASSERT_TRUE(artifact);
  EXPECT_GT(result.findings.size(), 500U) << "the first ones stay";
  EXPECT_LT(result.findings.size(), 1'000U);
  EXPECT_TRUE(decode_to_coordinator(encode(ToCoordinator(ResultMessage{result}))));
  ASSERT_TRUE(join_findings(result, *artifact));
  whole.findings_artifact = result.findings_artifact;
  EXPECT_TRUE(same(whole, result));
}

TEST(SplitFindings, CutsWhatIsTooMany) {
  TaskResult result;
  result.findings.resize(kFindingsPerResultMax + 5);

  static_cast<void>(split_findings(result));

  EXPECT_TRUE(result.findings_truncated);
}

TEST(SplitFindings, RefusesTheWrongArtifact) {
  TaskResult result;
  EXPECT_EQ(join_findings(result, "other bytes").error().code, Errc::artifact_mismatch);
  result.findings_artifact = sha256("no message");
  EXPECT_EQ(join_findings(result, "no message").error().code, Errc::malformed_message);
}

}  // namespace
}  // namespace cupel::wire
