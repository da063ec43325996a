#include "core/preparation.h"

#include "core/engine_world_internal.h"

namespace atl {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PreparationTest : public ::testing::Test {
 protected:
  PreparationTest() {
    world_.add();
    world_.start();
  }

  static CreateRequest with(std::vector<NewFile> files) {
    CreateRequest request;
    request.files = std::move(files);
    return request;
  }
  static SetupCommand setup(std::vector<std::string> argv) {
    SetupCommand command{.name = "requirements", .exec = {}, .env_offline = {{"OFFLINE", "1"}}};
    command.exec.argv = std::move(argv);
    command.exec.timeout = Millis(5'000);
    return command;
  }
  Result<RunResult> run(CreateRequest request, std::vector<std::string> argv) {
    ExecRequest exec;
    exec.argv = std::move(argv);
    return world_.run(world_.engine().run({}, std::move(request), std::move(exec), "", 1000,
                                          std::make_shared<RunStop>()));
  }

  EngineWorld world_;
};

TEST_F(PreparationTest, ASandboxHasItsFilesFromTheBeginning) {
  const auto view = world_.create(with({{"a.txt", "one"}, {"deep/down/b", "two", 0755}}));

  ASSERT_TRUE(view) << view.error().message();
  const auto& files = world_.host().boxes.at(view->id)->files;
  EXPECT_EQ(files.at("/workspace/a.txt").bytes, "one");
  EXPECT_EQ(files.at("/workspace/deep/down/b").bytes, "two");
  EXPECT_EQ(files.at("/workspace/deep/down/b").mode, 0755U);
}

TEST_F(PreparationTest, ASandboxWhoseFilesCannotBeWrittenIsNotLeft) {
  const auto view = world_.create(with({{"fine", "one"}, {"fine/below", "two"}}));

  ASSERT_FALSE(view);
  EXPECT_THAT(view.error().message(), HasSubstr("files: 'fine/below'"));
  EXPECT_EQ(view.error().stage(), "files");
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(PreparationTest, FilesThatCannotBeMeantAreRefusedBeforeAnythingIsMade) {
  for (const auto& [path, problem] :
       std::map<std::string, std::string>{{"", "empty"},
                                          {"dir/", "directory"},
                                          {"./a", "has . or .."},
                                          {"a/../b", "has . or .."},
                                          {"a//b", "empty part"},
                                          {std::string("a\0b", 3), "NUL"},
                                          {std::string(5000, 'x'), "4095"}}) {
    const auto refused = world_.create(with({{path, ""}}));
    ASSERT_FALSE(refused) << path;
    EXPECT_EQ(refused.error().code(), Code::invalid_argument);
    EXPECT_THAT(refused.error().message(), HasSubstr(problem));
  }
  EXPECT_THAT(world_.create(with({{"a", ""}, {"a", ""}})).error().message(), HasSubstr("twice"));
  std::vector<NewFile> many(kMostInitialFiles + 1);
  EXPECT_THAT(world_.create(with(std::move(many))).error().hint(), HasSubstr("tar"));
  EXPECT_EQ(world_.host().count("create"), 0U);
}

TEST_F(PreparationTest, TheSameNameWithOtherFilesIsAnotherRequest) {
  auto named = [](const char* text) {
    CreateRequest request = with({{"a", text}});
    request.name = "dev";
    return request;
  };
  const auto first = world_.create(named("one"));
  ASSERT_TRUE(first);
  const auto same = world_.create(named("one"));
  ASSERT_TRUE(same);
  EXPECT_EQ(same->id, first->id);
  const auto other = world_.create(named("two"));
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), HasSubstr("differs in: files"));
}

TEST_F(PreparationTest, AFingerprintTellsFilesApartAndNothingOfThem) {
  EXPECT_EQ(fingerprint({}), "");
  EXPECT_EQ(fingerprint({{"a", "b"}}), fingerprint({{"a", "b"}}));
  EXPECT_NE(fingerprint({{"a", "b"}}), fingerprint({{"ab", ""}}));
  EXPECT_EQ(fingerprint({{"a", "b"}}).size(), 64U);
}

TEST_F(PreparationTest, ARunsSetupGoesFirstAndIsAStageOfItsOwn) {
  CreateRequest request = with({{"a.txt", "one"}});
  request.setup = setup({"true"});
  const auto result = run(std::move(request), {"cat", "a.txt"});

  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->exec.out, "one");
  std::vector<std::string> stages;
  for (const auto& stage : result->stages) stages.push_back(stage.name);
  EXPECT_THAT(stages, Contains("files"));
  EXPECT_THAT(stages, Contains("setup"));
}

TEST_F(PreparationTest, ASetupThatFailsEndsTheRunWithItsLastWords) {
  CreateRequest request;
  request.setup = setup({"no-such-installer"});
  const auto result = run(std::move(request), {"echo", "never"});

  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::invalid_argument);
  EXPECT_EQ(result.error().stage(), "setup");
  EXPECT_THAT(result.error().message(), HasSubstr("requirements: no-such-installer"));
  EXPECT_THAT(result.error().message(), HasSubstr("not found"));
  EXPECT_THAT(world_.host().ids(), IsEmpty());
}

TEST_F(PreparationTest, ASetupThatTakesTooLongIsEnded) {
  CreateRequest request;
  request.setup = setup({"sleep"});
  const auto result = run(std::move(request), {"echo", "never"});

  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::deadline_exceeded);
  EXPECT_THAT(result.error().message(), HasSubstr("5 seconds"));
}

class OfflineTest : public PreparationTest, public ::testing::WithParamInterface<NetworkControl> {};

TEST_P(OfflineTest, OnlyAGuestWithoutNetworkIsToldNotToTry) {
  FakeHost& host = world_.host();
  host.capabilities.network = GetParam();
  world_.restart();
  CreateRequest request;
  request.setup = setup({"cat", "/no/such"});  // fails: the hint tells what was believed
  const auto result = run(std::move(request), {"true"});

  ASSERT_FALSE(result);
  const bool is_offline = GetParam() != NetworkControl::none;
  EXPECT_EQ(result.error().hint().find("no network") != std::string::npos, is_offline)
      << result.error().hint();
}

INSTANTIATE_TEST_SUITE_P(Networks, OfflineTest,
                         ::testing::Values(NetworkControl::none, NetworkControl::deny));

}  // namespace
}  // namespace atl
