#include "template/templates.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/fake_clock.h"
#include "base/run_task.h"
#include "os/file.h"
#include "template/test_archive_internal.h"

namespace atl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

class TemplatesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(path_), nullptr);
    directory_ = std::string(path_) + "/templates";
    ASSERT_TRUE(start());
  }
  void TearDown() override {
    stop();
    EXPECT_TRUE(os::remove_tree(AT_FDCWD, path_));
  }

  Result<> start() {
    TemplateOptions options = options_;
    options.directory = directory_;
    TRY(templates_, Templates::open(loop_.get_executor(), std::move(options), clock_));
    templates_->start_collecting([this](const std::string& path) { return path == used_; },
                                 [this] { ++gone_; });
    return {};
  }
  // Lets everything that workers do come to its end.
  void stop() {
    if (templates_) templates_->stop();
    loop_.restart();
    loop_.poll();
    templates_.reset();
  }

  static Task<TemplateView> upload(Templates& templates, TemplateReference reference,
                                   std::string bytes) {
    CO_TRY(const auto upload, templates.begin_upload());
    for (size_t at = 0; at < bytes.size(); at += 1'000)
      CO_TRY_OK(co_await upload->put(bytes.substr(at, 1'000)));
    co_return co_await templates.add(std::move(reference), upload);
  }
  Result<TemplateView> add(const TemplateReference& reference, std::string bytes) {
    return run_task(loop_, upload(*templates_, reference, std::move(bytes)));
  }

  static std::string archive(std::string_view text) {
    return TestArchive().file("etc/word", text).done();
  }
  std::vector<std::string> in(const std::string& name) const {
    return os::names_in(AT_FDCWD, directory_ + "/" + name);
  }
  std::string word_of(const TemplateReference& reference) {
    const auto opened = templates_->open_tree(reference);
    if (!opened) return opened.error().message();
    return os::read_file(AT_FDCWD, opened->path + "/etc/word", 100).value();
  }

  char path_[32] = "/tmp/atoll-templates-XXXXXX";
  std::string directory_;
  std::string used_;
  int gone_ = 0;
  TemplateOptions options_;
  asio::io_context loop_;
  FakeClock clock_;
  std::unique_ptr<Templates> templates_;
  const TemplateReference word_{"word"};
};

TEST_F(TemplatesTest, KeepsWhatItIsGivenUnderItsName) {
  const auto made = add(word_, archive("one"));
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->facts.files, 2u);
  EXPECT_EQ(made->facts.bytes, 3u);
  EXPECT_EQ(word_of(word_), "one");
  stop();
  EXPECT_THAT(in("incoming"), IsEmpty());
  ASSERT_TRUE(start());
  EXPECT_EQ(word_of(word_), "one");
  EXPECT_THAT(templates_->list(), SizeIs(1));
}

TEST_F(TemplatesTest, TakesThePlaceOfTheSameContentOnce) {
  const auto one = add(word_, archive("one"));
  const auto other = add({"other", "tag"}, to_gzip(archive("one")));
  ASSERT_TRUE(one);
  ASSERT_TRUE(other) << other.error().message();
  EXPECT_EQ(one->id(), other->id());
  EXPECT_THAT(in("trees"), SizeIs(1));
}

TEST_F(TemplatesTest, RollsBackAndRemovesWhatNobodyNeeds) {
  ASSERT_TRUE(add(word_, archive("one")));
  const auto second = add(word_, archive("two"));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->versions.size(), 2u);
  EXPECT_EQ(word_of(word_), "two");
  stop();  // so that the uploads are gone, which keep every tree
  ASSERT_TRUE(start());
  EXPECT_THAT(in("trees"), SizeIs(2));

  ASSERT_TRUE(run_task(loop_, templates_->roll_back(word_)));
  EXPECT_EQ(word_of(word_), "one");
  EXPECT_THAT(in("trees"), SizeIs(1));
  EXPECT_FALSE(templates_->has(second->id()));
  EXPECT_EQ(gone_, 1);

  ASSERT_TRUE(run_task(loop_, templates_->remove(word_)));
  EXPECT_THAT(in("trees"), IsEmpty());
  EXPECT_EQ(templates_->get(word_).error().code(), Code::not_found);
  stop();
  EXPECT_THAT(in("trash"), IsEmpty());
}

TEST_F(TemplatesTest, OpensAVersionThatItsNameStandsForNoMore) {
  const auto first = add(word_, archive("one"));
  ASSERT_TRUE(add(word_, archive("two")));
  const auto opened = templates_->open_version(first->id());
  ASSERT_TRUE(opened);
  EXPECT_EQ(*os::read_file(opened->root.get(), "etc/word", 100), "one");
  EXPECT_TRUE(templates_->has(first->id()));
  EXPECT_FALSE(templates_->has("../incoming"));
}

TEST_F(TemplatesTest, TellsWhoItsUsersAre) {
  const auto added =
      add(word_, TestArchive().file("etc/passwd", "agent:x:1000:1000::/home/agent:\n").done());
  ASSERT_TRUE(added);
  EXPECT_THAT(templates_->open_tree(word_)->users, ElementsAre(Pair("agent", 1000)));
  // An earlier daemon has not noted them.
  const std::string facts = directory_ + "/trees/" + added->id() + "/facts.json";
  auto text = *os::read_file(AT_FDCWD, facts, 1 << 20);
  const std::string noted = R"(,"users":{"agent":1000})";
  ASSERT_NE(text.find(noted), std::string::npos) << text;
  text.erase(text.find(noted), noted.size());
  const auto file = os::open_at(AT_FDCWD, facts, O_WRONLY | O_TRUNC);
  ASSERT_TRUE(os::write_all(file->get(), text));
  stop();
  ASSERT_TRUE(start());
  EXPECT_THAT(templates_->open_tree(word_)->users, ElementsAre(Pair("agent", 1000)));
}

TEST_F(TemplatesTest, KeepsATreeWhileASandboxHasItOrIsAboutTo) {
  ASSERT_TRUE(add(word_, archive("one")));
  stop();
  ASSERT_TRUE(start());
  auto opened = templates_->open_tree(word_);
  ASSERT_TRUE(opened);
  ASSERT_TRUE(run_task(loop_, templates_->remove(word_)));
  EXPECT_THAT(in("trees"), SizeIs(1));  // held
  used_ = opened->path;
  opened->hold.reset();
  templates_->collect();
  EXPECT_THAT(in("trees"), SizeIs(1));  // used
  used_.clear();
  templates_->collect();
  EXPECT_THAT(in("trees"), IsEmpty());
}

TEST_F(TemplatesTest, SweepsAtTheStartWhatWasLeftHalfDone) {
  ASSERT_TRUE(add(word_, archive("one")));
  stop();
  for (const char* name : {"/incoming/abc", "/incoming/abc/made", "/trash/def"})
    ASSERT_TRUE(os::make_directory(AT_FDCWD, directory_ + name, 0700));
  ASSERT_TRUE(os::make_directory(AT_FDCWD, directory_ + "/trees/" + std::string(64, 'a'), 0700));
  ASSERT_TRUE(start());
  templates_->collect();
  EXPECT_THAT(in("incoming"), IsEmpty());
  EXPECT_THAT(in("trees"), SizeIs(1));
  stop();
  EXPECT_THAT(in("trash"), IsEmpty());
}

TEST_F(TemplatesTest, LeavesNothingOfWhatIsRefused) {
  std::string damaged = archive("one");
  damaged[0] = 'x';
  EXPECT_FALSE(add(word_, damaged));
  EXPECT_FALSE(add(word_, archive("one").substr(0, 700)));
  EXPECT_EQ(add(word_, "").error().code(), Code::invalid_argument);
  EXPECT_THAT(templates_->list(), IsEmpty());
  stop();
  EXPECT_THAT(in("incoming"), IsEmpty());
  EXPECT_THAT(in("trees"), IsEmpty());
}

TEST_F(TemplatesTest, LimitsUploads) {
  stop();
  options_.upload_bytes = 1'500;
  ASSERT_TRUE(start());
  EXPECT_EQ(add(word_, archive("one")).error().code(), Code::too_large);

  const auto first = templates_->begin_upload();
  {
    const auto second = templates_->begin_upload();
    ASSERT_TRUE(first);
    ASSERT_TRUE(second);
    EXPECT_EQ(templates_->begin_upload().error().code(), Code::resource_exhausted);
  }
  EXPECT_TRUE(templates_->begin_upload());
}

TEST_F(TemplatesTest, GivesUpAfterAWhile) {
  stop();
  options_.unpack_time = std::chrono::seconds(0);
  ASSERT_TRUE(start());
  EXPECT_EQ(add(word_, archive("one")).error().code(), Code::deadline_exceeded);
}

TEST_F(TemplatesTest, TellsOfATreeThatIsDamaged) {
  const auto made = add(word_, archive("one"));
  ASSERT_TRUE(made);
  stop();
  ASSERT_TRUE(os::remove_tree(AT_FDCWD, directory_ + "/trees/" + made->id()));
  ASSERT_TRUE(start());
  const auto opened = templates_->open_tree(word_);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().hint(), HasSubstr("add it again"));
  EXPECT_THAT(templates_->list(), SizeIs(1));
  EXPECT_TRUE(run_task(loop_, templates_->remove(word_)));
}

}  // namespace
}  // namespace atl
