#include "base/ids.h"

#include <gtest/gtest.h>

namespace atl {
namespace {

TEST(Ids, AreDnsLabelsAndNeverRepeat) {
  const std::string id = make_sandbox_id();

  EXPECT_TRUE(is_sandbox_id(id)) << id;
  EXPECT_NE(id, make_sandbox_id());
  EXPECT_FALSE(is_sandbox_id("sbxTOOSHORT"));
}

TEST(Ids, NamesMustNotLookLikeIds) {
  EXPECT_TRUE(check_sandbox_name("build-7").has_value());
  EXPECT_FALSE(check_sandbox_name("").has_value());
  EXPECT_FALSE(check_sandbox_name("-a").has_value());
  EXPECT_FALSE(check_sandbox_name("a/b").has_value());
  EXPECT_FALSE(check_sandbox_name(make_sandbox_id()).has_value());
  EXPECT_FALSE(check_sandbox_name(std::string(64, 'a')).has_value());
}

}  // namespace
}  // namespace atl
