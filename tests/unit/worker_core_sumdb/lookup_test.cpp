#include "worker/core/sumdb/lookup.hpp"

#include "tests/unit/worker_core_sumdb/recorded.hpp"

#include <gtest/gtest.h>

namespace cupel::worker::sumdb {
namespace {

TEST(ParseLookup, ReadsTheRecordedAnswer) {
  const auto lookup = parse_lookup(recorded_lookup());
  ASSERT_TRUE(lookup);
  EXPECT_EQ(lookup->number, 706716U);
  EXPECT_TRUE(open_note(lookup->note, recorded_key()));
  const auto sums = sums_of(lookup->record, kErrors);
  ASSERT_TRUE(sums);
  EXPECT_EQ(sums->zip, "h1:FEBLx1zS214owpjy7qsBeixbURkuhQAwrK5UwLGTwt4=");
  EXPECT_EQ(sums->go_mod, "h1:bwawxfHBFNV+L2hUp1rHADufV3IMtnDRdf1r5NINEl0=");
}

TEST(ParseLookup, RefusesWhatIsNoAnswer) {
  const std::string answer = recorded_lookup();
  for (const std::string& odd :
       {std::string(), std::string("706716"), "-1" + answer, "x" + answer, "\n" + answer,
        std::string("1\n\n\n"), answer + std::string("\0", 1), "1\n\n" + answer,
        std::string(kLookupBytesMax, '1') + answer}) {
    EXPECT_FALSE(parse_lookup(odd)) << odd.substr(0, 40);
  }
}

TEST(SumsOf, RefusesTheRecordOfAnotherVersionOrModule) {
  const std::string record = parse_lookup(recorded_lookup())->record;
  EXPECT_FALSE(sums_of(record, {"github.com/pkg/errors", "v0.9.2"}));
  EXPECT_FALSE(sums_of(record, {"github.com/pkg/error", "v0.9.1"}));
  EXPECT_EQ(sums_of(record, {"github.com/pkg", "v0.9.1"}).error().code, Errc::artifact_mismatch);
}

TEST(SumsOf, RefusesARecordThatSaysMoreOrLess) {
  const std::string record = parse_lookup(recorded_lookup())->record;
  const std::string first = record.substr(0, record.find('\n') + 1);
  EXPECT_FALSE(sums_of(first, kErrors));
  EXPECT_FALSE(sums_of(record + first, kErrors));
  EXPECT_FALSE(sums_of(record + "other.example v1.0.0 h1:xx\n", kErrors));
  std::string odd = record;
  odd[odd.find("h1:") + 1] = '2';
  EXPECT_FALSE(sums_of(odd, kErrors));
  EXPECT_FALSE(sums_of("", kErrors));
}

TEST(FileH1, IsWhatTheDatabaseSaysOfTheRecordedGoMod) {
  EXPECT_EQ(file_h1("go.mod", recorded("module/v0.9.1.mod")),
            sums_of(parse_lookup(recorded_lookup())->record, kErrors)->go_mod);
}

}  // namespace
}  // namespace cupel::worker::sumdb
