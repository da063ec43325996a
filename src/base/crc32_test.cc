#include "base/crc32.h"

#include <gtest/gtest.h>

namespace atl {
namespace {

TEST(Crc32, IsThatOfTheStandard) {
  EXPECT_EQ(crc32_of("123456789"), 0xCBF43926U);  // its check value
  EXPECT_EQ(crc32_of(""), 0U);
}

TEST(Crc32, GoesOnWhereItWas) { EXPECT_EQ(crc32_of("6789", crc32_of("12345")), 0xCBF43926U); }

}  // namespace
}  // namespace atl
