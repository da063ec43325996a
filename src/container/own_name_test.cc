#include "container/own_name.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "os/file.h"

namespace atl::container {
namespace {

class OwnNameTest : public testing::Test {
 protected:
  OwnNameTest() { EXPECT_NE(mkdtemp(place_.data()), nullptr); }
  ~OwnNameTest() override { EXPECT_TRUE(os::remove_tree(AT_FDCWD, place_).has_value()); }

  std::string name_at(const std::string& state) {
    std::filesystem::create_directories(place_ + "/" + state);
    const auto name = own_name(place_ + "/" + state + "/engines/docker");
    EXPECT_TRUE(name.has_value()) << name.error().message();
    return name.value_or("");
  }

  std::string place_ = "/tmp/atoll-own-name-XXXXXX";
};

TEST_F(OwnNameTest, StaysAndMovesWithItsDirectory) {
  const std::string name = name_at("state");

  EXPECT_EQ(name.size(), 24U);
  EXPECT_EQ(name_at("state"), name);
  std::filesystem::rename(place_ + "/state", place_ + "/elsewhere");
  EXPECT_EQ(name_at("elsewhere"), name);
}

TEST_F(OwnNameTest, IsNobodyElsesEvenAtTheSamePath) {
  const std::string name = name_at("state");
  std::filesystem::rename(place_ + "/state", place_ + "/elsewhere");

  EXPECT_NE(name_at("state"), name);
}

TEST_F(OwnNameTest, IsNeverMadeAnewWhereThereIsHalfOfOne) {
  std::filesystem::create_directories(place_ + "/engines");
  std::ofstream(place_ + "/engines/docker-name") << "half";

  const auto name = own_name(place_ + "/engines/docker");

  ASSERT_FALSE(name.has_value());
  EXPECT_NE(name.error().hint().find("nobody's"), std::string::npos);
}

}  // namespace
}  // namespace atl::container
