#include "api/v1/language.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"

namespace atl::api::v1 {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(LanguageTest, EveryNameIsFoundAndMeansOneLanguage) {
  std::set<std::string> names;
  for (const auto& language : all_languages()) {
    auto others = split(language.others, ' ');
    others.emplace_back(language.name);
    for (const auto& name : others) {
      if (name.empty()) continue;
      EXPECT_TRUE(names.insert(name).second) << name;
      const auto found = find_language(name);
      ASSERT_TRUE(found) << name;
      EXPECT_EQ((*found)->name, language.name);
    }
  }
  EXPECT_TRUE(names.contains("python"));
}

TEST(LanguageTest, AnUnknownOneIsToldWhatIsKnown) {
  const auto found = find_language("cobol");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), Code::invalid_argument);
  EXPECT_THAT(found.error().hint(), HasSubstr("python, javascript, bash"));
}

TEST(LanguageTest, PackagesAreArgumentsAndNeverOptions) {
  const auto packages = get_packages(**find_language("python"), {"six", "./a-1-py3-none-any.whl"});
  ASSERT_TRUE(packages);
  const auto& argv = packages->setup.exec.argv;
  const auto dashes = std::ranges::find(argv, "--");
  ASSERT_EQ(argv.end() - dashes, 3) << "the packages come last, behind --";
  EXPECT_GT(packages->setup.exec.timeout.count(), 0);
  EXPECT_FALSE(packages->env.empty());

  for (const char* bad : {"--index-url=http://elsewhere", "-e", "", "two\nlines", "nul\x01"}) {
    const auto refused = get_packages(**find_language("python"), {bad});
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code(), Code::invalid_argument);
  }
  EXPECT_FALSE(get_packages(**find_language("python"), std::vector<std::string>(201, "six")));
}

TEST(LanguageTest, ALanguageWithoutPackagesSaysSo) {
  const auto packages = get_packages(**find_language("lua"), {"lpeg"});
  ASSERT_FALSE(packages);
  EXPECT_EQ(packages.error().code(), Code::unsupported);
}

}  // namespace
}  // namespace atl::api::v1
