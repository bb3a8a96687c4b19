#include "tests/unit/common_wire/bulk_fixture.hpp"

namespace cupel::wire {
namespace {

TEST_F(BulkTest, AWorkerHasAFewTransfersAtOnce) {
  for (std::uint64_t i = 1; i <= 16; ++i) {
    EXPECT_EQ(refused(serve(PutBegin{kSession, i, kLease, sha256(std::to_string(i)), 10})),
              Errc::bug)
        << "not refused";
  }
  EXPECT_EQ(refused(serve(PutBegin{kSession, 17, kLease, sha256("17"), 10})), Errc::retry_later);
  EXPECT_EQ(refused(serve(PutBegin{9, 1, kLease, sha256("another"), 10}, kOther)), Errc::bug)
      << "another worker has its own share";
}

TEST_F(BulkTest, ForgetsSilentTransfersAndThoseOfADeadSession) {
  static_cast<void>(serve(PutBegin{kSession, 1, kLease, sha256("1"), 10}));
  static_cast<void>(serve(GetBegin{kSession, 2, kLease, stored("abc"), 0}));
  static_cast<void>(serve(PutBegin{9, 1, kLease, sha256("2"), 10}, kOther));
  EXPECT_EQ(server.transfers(), 3U);

  server.drop_session(9);
  EXPECT_EQ(server.transfers(), 2U);
  server.tick(now + seconds(60));
  EXPECT_EQ(server.transfers(), 2U);
  server.tick(now + seconds(61));
  EXPECT_EQ(server.transfers(), 0U);
}

TEST_F(BulkTest, ATransferIdServesOneTransfer) {
  static_cast<void>(serve(PutBegin{kSession, 1, kLease, sha256("1"), 10}));

  EXPECT_EQ(refused(serve(PutBegin{kSession, 1, kLease, sha256("2"), 10})), Errc::conflict);
  EXPECT_EQ(refused(serve(GetBegin{kSession, 1, kLease, stored("abc"), 0})), Errc::conflict);
}

}  // namespace
}  // namespace cupel::wire
