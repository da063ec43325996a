#include "container/registry_login.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "container/engine_images.h"
#include "os/file.h"

namespace atl::container {
namespace {

using testing::HasSubstr;
using testing::Not;

class RegistryLoginTest : public testing::Test {
 protected:
  RegistryLoginTest() { EXPECT_NE(mkdtemp(path_.data()), nullptr); }
  ~RegistryLoginTest() override { EXPECT_TRUE(os::remove_tree(AT_FDCWD, path_).has_value()); }

  Result<std::string> login(const std::string& text, const std::string& registry) {
    const Fd directory(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_TRUE(os::replace_file(directory.get(), "config.json", text, 0600).has_value());
    return find_login({path_ + "/none", path_ + "/config.json"}, registry);
  }

  std::string path_ = "/tmp/atoll-login-XXXXXX";
};

TEST_F(RegistryLoginTest, IsWhatTheUserHasToldForThisRegistry) {
  const std::string text = R"({"auths":{"https://index.docker.io/v1/":{"auth":"aHViOmg="},)"
                           R"("127.0.0.1:5000":{"auth":"bWU6czNjcmV0"}}})";

  const auto own = login(text, "127.0.0.1:5000");
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(from_base64(*own).value(),
            R"({"username":"me","password":"s3cret","serveraddress":"127.0.0.1:5000"})");
  EXPECT_THAT(from_base64(login(text, "docker.io").value()).value(), HasSubstr(R"("hub")"));
  EXPECT_EQ(login(text, "elsewhere.org").value(), "");
}

TEST_F(RegistryLoginTest, SaysWhenAProgramKeepsIt) {
  const auto kept = login(R"({"auths":{"r.org":{}},"credsStore":"desktop"})", "r.org");

  ASSERT_FALSE(kept.has_value());
  EXPECT_EQ(kept.error().code(), Code::unsupported);
  EXPECT_EQ(login(R"({"credsStore":"desktop"})", "r.org").value(), "");
}

TEST_F(RegistryLoginTest, TellsNothingOfAFileThatMakesNoSense) {
  const auto broken = login(R"({"auths":{"r.org":{"password":"s3cret"})", "r.org");

  ASSERT_FALSE(broken.has_value());
  EXPECT_THAT(broken.error().message() + broken.error().hint(), Not(HasSubstr("s3cret")));
}

TEST(ImageName, NamesItsRegistry) {
  EXPECT_EQ(registry_of("debian:12"), "docker.io");
  EXPECT_EQ(registry_of("library/debian"), "docker.io");
  EXPECT_EQ(registry_of("127.0.0.1:5000/a/b:1"), "127.0.0.1:5000");
  EXPECT_EQ(registry_of("localhost/x"), "localhost");
}

}  // namespace
}  // namespace atl::container
