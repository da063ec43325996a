// Whose the objects of an engine are: what a driver asks for, takes up and leaves alone.
#include "container/engine_driver.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include <boost/asio/io_context.hpp>

#include "base/ids.h"
#include "base/run_task.h"
#include "container/own_name.h"
#include "container/scripted_engine_internal.h"
#include "os/file.h"

namespace atl::container {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class OwnersTest : public testing::Test {
 protected:
  OwnersTest() {
    EXPECT_NE(mkdtemp(place_.data()), nullptr);
    std::filesystem::create_directories(directory());
  }
  ~OwnersTest() override { EXPECT_TRUE(os::remove_tree(AT_FDCWD, place_).has_value()); }

  std::string directory() const { return place_ + "/engines/docker"; }
  std::string own() { return own_name(directory()).value_or("none"); }

  std::unique_ptr<Driver> driver(const ScriptedEngine& engine) {
    return make_engine_driver(
        loop_.get_executor(), kDocker,
        {.host = "unix://" + engine.path(), .directory = directory(), .agent = "/bin/true"});
  }
  // What the engine tells of a container that is paused, whose agent nobody waits for.
  std::string container_of(const std::string& instance) const {
    return answer(200, R"({"State":{"Running":true,"Paused":true,"Pid":1},"Config":{"Labels":{)"
                       R"("atoll.instance":")" +
                           instance + R"(","atoll.driver":"docker","atoll.generation":"1",)" +
                           R"("atoll.sandbox":")" + id_ + R"("}}})");
  }
  std::string image_of(const std::string& instance) const {
    return R"({"Labels":{"atoll.instance":")" + instance +
           R"(","atoll.driver":"docker","atoll.snapshot":")" + snapshot_ + R"("}})";
  }
  static std::string gone() { return answer(404, R"({"message":"No such container"})"); }

  asio::io_context loop_;
  std::string place_ = "/tmp/atoll-owners-XXXXXX";
  const std::string id_ = make_sandbox_id();
  const std::string snapshot_ = make_snapshot_id();
};

// Another daemon may have the same directory, in another mount namespace.
TEST_F(OwnersTest, AsksForWhatBearsItsNameAndNotForADirectory) {
  ScriptedEngine engine({ping("1.41"), answer(200, "[]")});

  const auto ids = run_task(loop_, driver(engine)->list());

  ASSERT_TRUE(ids.has_value()) << ids.error().message();
  EXPECT_THAT(engine.asked().back(),
              AllOf(HasSubstr("atoll.instance%3D" + own()), Not(HasSubstr("engines"))));
}

TEST_F(OwnersTest, TakesUpWhatTheStoreKnowsUnderTheFormerName) {
  ScriptedEngine engine({ping("1.41"), container_of(directory())});
  const auto used = driver(engine);

  const auto attached = run_task(loop_, used->attach(id_));

  ASSERT_TRUE(attached.has_value()) << attached.error().message();
  EXPECT_EQ((*attached)->id(), id_);
}

TEST_F(OwnersTest, TakesUpNothingOfAnothers) {
  for (const std::string& instance : {std::string("/elsewhere/engines/docker"), own() + "x"}) {
    ScriptedEngine engine({ping("1.41"), container_of(instance)});

    EXPECT_EQ(run_task(loop_, driver(engine)->attach(id_)).error().code(), Code::not_found);
  }
}

TEST_F(OwnersTest, RemovesWhatHasADirectoryHereUnderTheFormerNameAndNothingOfAnothers) {
  std::filesystem::create_directories(directory() + "/" + id_);
  ScriptedEngine engine({ping("1.41"), answer(200, "[]"), container_of(directory()),
                         answer(204, ""), gone(), answer(200, "[]")});
  const auto used = driver(engine);
  EXPECT_THAT(run_task(loop_, used->list()).value_or(std::vector<std::string>()), ElementsAre(id_));
  EXPECT_TRUE(run_task(loop_, used->destroy_orphan(id_)));
  EXPECT_THAT(engine.asked(), Contains(HasSubstr("DELETE /v1.41/containers/atoll-" + id_)));

  ScriptedEngine other({ping("1.41"), container_of("somebodys")});
  EXPECT_TRUE(run_task(loop_, driver(other)->destroy_orphan(id_)));
  EXPECT_THAT(other.asked(), Not(Contains(HasSubstr("DELETE"))));
}

TEST_F(OwnersTest, DoubtsSnapshotsUnderTheFormerName) {
  const std::string rows = "[" + image_of(own()) + "]";
  const std::string formers = "[" + image_of(directory()) + "]";
  const std::string others = "[" + image_of("/elsewhere") + "]";
  const std::vector<std::string> it{snapshot_};
  const std::vector<std::string> none;
  const std::map<std::string, std::pair<std::vector<std::string>, std::vector<std::string>>> told{
      {rows, {it, none}}, {formers, {it, it}}, {others, {none, none}}};
  for (const auto& [images, lists] : told) {
    ScriptedEngine engine({ping("1.41"), answer(200, images), answer(200, images)});
    const auto used = driver(engine);

    EXPECT_EQ(run_task(loop_, used->list_snapshots()).value_or(std::vector<std::string>{"error"}),
              lists.first)
        << images;
    EXPECT_EQ(run_task(loop_, used->list_doubtful_snapshots())
                  .value_or(std::vector<std::string>{"error"}),
              lists.second)
        << images;
  }
}

// With files of a sandbox beside our store it is nobody else's.
TEST_F(OwnersTest, DoubtsNoSnapshotOfWhichItHasAPart) {
  std::filesystem::create_directories(directory() + "-snapshots/" + snapshot_);
  ScriptedEngine engine({ping("1.41"), answer(200, "[" + image_of(directory()) + "]")});

  const auto doubtful = run_task(loop_, driver(engine)->list_doubtful_snapshots());

  ASSERT_TRUE(doubtful.has_value()) << doubtful.error().message();
  EXPECT_THAT(*doubtful, IsEmpty());
}

}  // namespace
}  // namespace atl::container
