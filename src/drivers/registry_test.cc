#include "drivers/registry.h"

#include <gtest/gtest.h>

#include <set>

namespace atl::drivers {
namespace {

TEST(Registry, NamesAreUniqueAndTheStrongestComesFirst) {
  std::set<std::string_view> names;
  for (const auto& entry : all()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.summary.empty());
  }

  EXPECT_EQ(all().front().name, "native");
  EXPECT_EQ(all().back().name, "local") << "no isolation is the last resort";
}

}  // namespace
}  // namespace atl::drivers
