#include "template/names.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/fd.h"
#include "os/file.h"

namespace atl {
namespace {

using testing::HasSubstr;

class TemplateNamesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(path_), nullptr);
    directory_ = os::open_at(AT_FDCWD, path_, O_RDONLY | O_DIRECTORY).value();
  }
  void TearDown() override { EXPECT_TRUE(os::remove_tree(AT_FDCWD, path_)); }

  char path_[32] = "/tmp/atoll-names-XXXXXX";
  Fd directory_;
  const TemplateReference python_{"python", "3.12"};
};

WallTime at(int64_t ms) { return WallTime(Millis(ms)); }

TEST_F(TemplateNamesTest, AreReadAsTheyWereWritten) {
  TemplateNames names;
  ASSERT_TRUE(names.put(python_, "a1", at(1'000)));
  ASSERT_TRUE(names.put(python_, "b2", at(2'000)));
  ASSERT_TRUE(names.put({"debian"}, "a1", at(3'000)));
  ASSERT_TRUE(names.save(directory_.get()));

  const auto read = TemplateNames::load(directory_.get());

  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->all().size(), 2u);
  const auto versions = read->get(python_).value();
  ASSERT_EQ(versions.size(), 2u);
  EXPECT_EQ(versions[0].id, "a1");
  EXPECT_EQ(versions[1].id, "b2");
  EXPECT_EQ(versions[1].added_at, at(2'000));
  EXPECT_THAT(os::names_in(directory_.get()), testing::ElementsAre("names.json"));
}

TEST_F(TemplateNamesTest, AreNoneWhereThereIsNoFile) {
  EXPECT_TRUE(TemplateNames::load(directory_.get()).value().all().empty());
}

TEST_F(TemplateNamesTest, AreNotGuessedFromADamagedFile) {
  for (const char* text : {"", "{", R"({"format":2,"names":[]})", "[]"}) {
    ASSERT_TRUE(os::replace_file(directory_.get(), "names.json", text, 0600));
    const auto read = TemplateNames::load(directory_.get());
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().hint(), HasSubstr("move it away"));
  }
}

TEST_F(TemplateNamesTest, RollBackToTheVersionBefore) {
  TemplateNames names;
  ASSERT_TRUE(names.put(python_, "a1", at(1)));
  ASSERT_TRUE(names.put(python_, "b2", at(2)));
  ASSERT_TRUE(names.roll_back(python_));
  EXPECT_EQ(names.get(python_).value().back().id, "a1");
  EXPECT_FALSE(names.ids().contains("b2"));

  const auto again = names.roll_back(python_);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), Code::conflict);
  EXPECT_EQ(names.get(python_).value().back().id, "a1");
}

TEST_F(TemplateNamesTest, TheSameAgainIsNoNewVersion) {
  TemplateNames names;
  ASSERT_TRUE(names.put(python_, "a1", at(1)));
  ASSERT_TRUE(names.put(python_, "a1", at(2)));
  EXPECT_EQ(names.get(python_).value().size(), 1u);
}

TEST_F(TemplateNamesTest, ForgetTheOldestOfManyVersions) {
  TemplateNames names;
  for (size_t i = 0; i <= kMostTemplateVersions; ++i)
    ASSERT_TRUE(names.put(python_, "id" + std::to_string(i), at(1)));
  const auto versions = names.get(python_).value();
  EXPECT_EQ(versions.size(), kMostTemplateVersions);
  EXPECT_EQ(versions.front().id, "id1");
  EXPECT_FALSE(names.ids().contains("id0"));
}

TEST_F(TemplateNamesTest, TellANameThatIsNear) {
  TemplateNames names;
  ASSERT_TRUE(names.put(python_, "a1", at(1)));
  const auto found = names.get({"pyhton", "3.12"});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), Code::not_found);
  EXPECT_THAT(found.error().hint(), HasSubstr("python:3.12"));
  EXPECT_FALSE(names.remove({"pyhton", "3.12"}));
}

TEST_F(TemplateNamesTest, AreLimited) {
  TemplateNames names;
  for (size_t i = 0; i < kMostTemplateNames; ++i)
    ASSERT_TRUE(names.put({"n" + std::to_string(i)}, "a1", at(1)));
  const auto more = names.put({"more"}, "a1", at(1));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code(), Code::resource_exhausted);
  EXPECT_TRUE(names.put({"n7"}, "b2", at(1)));
}

}  // namespace
}  // namespace atl
