#include "policy/driver_capacity.h"

#include <gmock/gmock.h>

namespace atl::policy {
namespace {

using ::testing::HasSubstr;

TEST(DriverCapacity, ANumberAloneCountsSandboxes) {
  EXPECT_EQ(parse_capacity("20").value(), (Quota{.sandboxes = 20}));
}

TEST(DriverCapacity, PartsComeInAnyOrder) {
  const Quota whole{
      .sandboxes = 20, .milli_cpus = 1'500, .memory_mb = 16 * 1'024, .disk_mb = 100 * 1'024};
  EXPECT_EQ(parse_capacity("sandboxes=20,cpus=1.5,memory=16g,disk=100g").value(), whole);
  EXPECT_EQ(parse_capacity("disk=100g,20,memory=16384,cpus=1.5").value(), whole);
  EXPECT_EQ(parse_capacity("memory=512m").value(), (Quota{.memory_mb = 512}));
}

TEST(DriverCapacity, AnythingElseIsNone) {
  for (const char* text : {"", ",", "x", "0", "-1", "1.5", "1,2", "cpus=", "cpus=0", "cpus=2x",
                           "memory=", "memory=0", "memory=lots", "gpus=1", "sandboxes=1,1"}) {
    const auto parsed = parse_capacity(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code(), Code::invalid_argument) << text;
    EXPECT_THAT(parsed.error().hint(), HasSubstr("sandboxes=20")) << text;
  }
  EXPECT_FALSE(parse_capacity(std::string(1'000, '1')).has_value());
}

}  // namespace
}  // namespace atl::policy
