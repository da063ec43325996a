// docs/configuration.md says what the table of settings says.
#include "config/guide.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>

#include "config/keys.h"
#include "os/file.h"

namespace atl::config {
namespace {

using ::testing::HasSubstr;

TEST(Guide, IsWrittenFromTheTable) {
  const std::string path = ATOLL_GUIDE;
  const auto text = os::read_file(AT_FDCWD, path, 1 << 20);
  ASSERT_TRUE(text) << text.error().message();
  ASSERT_THAT(*text, HasSubstr(kGuideBegin));
  const std::string wanted = with_tables(*text);
  if (getenv("ATOLL_UPDATE_GUIDE") != nullptr) {
    const size_t slash = path.rfind('/');
    const auto directory = os::open_at(AT_FDCWD, path.substr(0, slash), O_PATH | O_DIRECTORY);
    ASSERT_TRUE(directory);
    ASSERT_TRUE(os::replace_file(directory->get(), path.substr(slash + 1), wanted, 0644));
    return;
  }
  EXPECT_EQ(*text, wanted) << "run config_test with ATOLL_UPDATE_GUIDE=1";
}

TEST(Guide, HasEverySetting) {
  const std::string tables = guide_tables();
  for (const Key& key : all_keys()) {
    EXPECT_THAT(tables, HasSubstr("| `" + std::string(key.name) + "` |"));
  }
}

}  // namespace
}  // namespace atl::config
