#include "policy/price.h"

#include <gmock/gmock.h>

namespace atl::policy {
namespace {

using ::testing::HasSubstr;

TEST(Price, ANumberAloneIsForTheSandbox) {
  EXPECT_EQ(parse_price("0.05").value(), (Price{.sandbox = 0.05}));
  EXPECT_EQ(parse_price("0").value(), Price{});
}

TEST(Price, PartsComeInAnyOrder) {
  const Price whole{.sandbox = 0.01, .cpu = 0.05, .gib = 0.02};
  EXPECT_EQ(parse_price("0.01+0.05/cpu+0.02/gib").value(), whole);
  EXPECT_EQ(parse_price("0.02/gib+0.01+0.05/cpu").value(), whole);
  EXPECT_EQ(parse_price("0.05/cpu").value(), (Price{.cpu = 0.05}));
}

TEST(Price, OfASandboxIsTheSumOfItsParts) {
  const Price price{.sandbox = 1, .cpu = 0.5, .gib = 0.25};
  EXPECT_DOUBLE_EQ(price.of({.sandboxes = 1, .milli_cpus = 1'500, .memory_mb = 512}), 1.875);
}

TEST(Price, AnythingElseIsNone) {
  for (const char* text : {"", "+", "x", "-1", "1e3", "inf", "nan", "0x1", "1..2", "1+2", "1/disk",
                           "/cpu", "1/cpu+2/cpu", "1 + 2/cpu", "1000000001", "1/"}) {
    const auto parsed = parse_price(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code(), Code::invalid_argument) << text;
    EXPECT_THAT(parsed.error().hint(), HasSubstr("0.05/cpu")) << text;
  }
  EXPECT_FALSE(parse_price(std::string(1'000, '1')).has_value());
}

}  // namespace
}  // namespace atl::policy
