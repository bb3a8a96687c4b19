#include "common/net/library.hpp"

#include <gtest/gtest.h>

namespace cupel::net {
namespace {

TEST(Libzmq, ThatIsLoadedIsSafe) {
  EXPECT_TRUE(check_libzmq(loaded_libzmq()));
}

TEST(Libzmq, WithKnownHolesIsRefused) {
  for (const LibraryVersion old : {LibraryVersion{4, 3, 2}, {4, 2, 5}, {3, 2, 5}}) {
    const auto checked = check_libzmq(old);
    ASSERT_FALSE(checked) << old.text();
    EXPECT_EQ(checked.error().code, Errc::bad_config);
    EXPECT_NE(checked.error().what.find("libzmq " + old.text() + " is too old"), std::string::npos);
    EXPECT_NE(checked.error().what.find("CVE-2020-15166"), std::string::npos);
  }
  EXPECT_TRUE(check_libzmq({4, 3, 3}));
  EXPECT_TRUE(check_libzmq({5, 0, 0}));
}

}  // namespace
}  // namespace cupel::net
