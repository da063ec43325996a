#include "drivers/extension/extension_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/ids.h"
#include "drivers/extension/scripted_extension_internal.h"

namespace atl::extension {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ExtensionTest : public testing::Test, public DriverListener {
 protected:
  ExtensionTest() { extension_.start(); }

  Driver& driver() {
    if (!driver_) {
      driver_ = make_extension_driver(loop_.get_executor(), extension_.options());
      driver_->set_listener(this);
    }
    return *driver_;
  }

  Result<std::unique_ptr<Sandbox>> create(SandboxSpec spec = {}) {
    if (spec.id.empty()) spec.id = id_;
    return run_task(loop_, driver().create(std::move(spec)));
  }

  // Lets what is under way come about.
  void go_on_until(const std::function<bool()>& holds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!holds() && std::chrono::steady_clock::now() < until) {
      loop_.restart();
      loop_.run_one_for(std::chrono::milliseconds(20));
    }
    EXPECT_TRUE(holds());
  }

  void on_ended(const Driver&, std::string id, EndedBy why) override { ended_[id] = why; }

  asio::io_context loop_;
  ScriptedExtension extension_{loop_};
  std::unique_ptr<Driver> driver_;
  const std::string id_ = make_sandbox_id();
  std::map<std::string, EndedBy> ended_;
};

TEST_F(ExtensionTest, SaysSoWhenItsProgramRunsAsRoot) {
  const auto can = run_task(loop_, driver().probe());

  ASSERT_TRUE(can) << can.error().message();
  const auto warning = testing::Contains(HasSubstr("runs as root"));
  if (geteuid() == 0) {
    EXPECT_THAT(can->not_protected, warning);
  } else {
    EXPECT_THAT(can->not_protected, testing::Not(warning));
  }
}

TEST_F(ExtensionTest, MakesASandboxWhoseAgentAnswers) {
  SandboxSpec spec;
  spec.env["SECRET"] = "hunter2";
  spec.resources.disk_mb = 64;

  const auto sandbox = create(std::move(spec));

  ASSERT_TRUE(sandbox) << sandbox.error().message();
  EXPECT_TRUE((*sandbox)->is_running());
  EXPECT_TRUE(run_task(loop_, (*sandbox)->stop()));
  const json::Object& told = extension_.last["create"];
  EXPECT_EQ(told.at("resources").at("disk_mb").as_int64(), 64);
  EXPECT_EQ(told.at("configuration").at("color").as_string(), "blue");
  std::string text;
  json::write_value(text, told);
  EXPECT_EQ(text.find("hunter2"), std::string::npos) << "the environment is for the agent alone";
}

TEST_F(ExtensionTest, IsBelievedNoFurtherThanTheOperatorDoes) {
  auto options = extension_.options();
  options.grant.trust_isolation = Isolation::process;
  driver_ = make_extension_driver(loop_.get_executor(), std::move(options));

  const auto can = run_task(loop_, driver().probe());

  ASSERT_TRUE(can) << can.error().message();
  EXPECT_EQ(can->isolation, Isolation::process);
  EXPECT_EQ(driver().strongest(""), Isolation::process);
  EXPECT_THAT(
      can->not_protected,
      testing::Contains("it claims the level container, and the operator believes process"));
}

TEST_F(ExtensionTest, CannotClaimMoreThanItsManifest) {
  auto options = extension_.options();
  options.grant.manifest.capabilities.pause = Pause::none;
  options.grant.manifest.capabilities.isolation = Isolation::process;
  driver_ = make_extension_driver(loop_.get_executor(), std::move(options));
  extension_.claim.ports = true;

  const auto can = run_task(loop_, driver().probe());

  ASSERT_TRUE(can) << can.error().message();
  EXPECT_EQ(can->isolation, Isolation::process);
  EXPECT_EQ(can->pause, Pause::none);
  EXPECT_FALSE(can->ports);
}

TEST_F(ExtensionTest, CannotTakeCodeElsewhere) {
  extension_.claim.placement = Placement::third_party;

  const auto can = run_task(loop_, driver().probe());

  ASSERT_FALSE(can);
  EXPECT_EQ(can.error().code(), Code::permission_denied);
}

TEST_F(ExtensionTest, AnotherOneOnItsSocketIsNotTaken) {
  extension_.name = "somebody-else";

  const auto can = run_task(loop_, driver().probe());

  ASSERT_FALSE(can);
  EXPECT_EQ(can.error().code(), Code::permission_denied);
  EXPECT_THAT(can.error().message(), HasSubstr("somebody-else"));
}

TEST_F(ExtensionTest, ASocketOfAnotherUserIsNotSpokenTo) {
  auto options = extension_.options();
  options.grant.uid = getuid() + 1;
  driver_ = make_extension_driver(loop_.get_executor(), std::move(options));

  const auto can = run_task(loop_, driver().probe());

  ASSERT_FALSE(can);
  EXPECT_EQ(can.error().code(), Code::permission_denied);
  EXPECT_THAT(extension_.called, IsEmpty());
}

TEST_F(ExtensionTest, ASocketForEverybodyIsNotSpokenTo) {
  chmod((extension_.directory() + "/socket").c_str(), 0666);

  const auto can = run_task(loop_, driver().probe());

  ASSERT_FALSE(can);
  EXPECT_THAT(can.error().hint(), HasSubstr("0660"));
  EXPECT_THAT(extension_.called, IsEmpty());
}

TEST_F(ExtensionTest, NobodyThereIsUnavailable) {
  extension_.stop();

  const auto can = run_task(loop_, driver().probe());

  ASSERT_FALSE(can);
  EXPECT_EQ(can.error().code(), Code::unavailable);
  EXPECT_FALSE(can.error().hint().empty());
}

TEST_F(ExtensionTest, NonsenseIsAnErrorAndNoMore) {
  const std::string wrong[] = {
      "nonsense\n",
      "{}\n",
      "[]\n",
      "{\"ok\":{}}\n",
      "{\"ok\":{},\"error\":{}}\n",
      "{\"error\":{\"code\":\"made_up\",\"message\":\"\\u001b[31m\"}}\n",
      "{\"ok\":{\"protocol\":2,\"name\":\"scripted\",\"version\":\"1\",\"capabilities\":"
      "{\"isolation\":\"none\"}}}\n",
      "{\"ok\":{\"protocol\":1,\"name\":\"scripted\",\"version\":\"1\",\"capabilities\":"
      "{\"isolation\":\"perfect\"}}}\n",
      std::string(3 * kLongestLine, 'a'),
      "",
  };
  for (const auto& line : wrong) {
    extension_.instead["hello"] = line;
    EXPECT_FALSE(run_task(loop_, driver().probe())) << line.substr(0, 80);
  }
  extension_.instead.clear();

  EXPECT_TRUE(run_task(loop_, driver().probe()));
}

TEST_F(ExtensionTest, OneThatHangsIsGivenUp) {
  ASSERT_TRUE(run_task(loop_, driver().probe()));
  extension_.instead["create"] = "hang";

  const auto sandbox = create();

  ASSERT_FALSE(sandbox);
  EXPECT_EQ(sandbox.error().code(), Code::deadline_exceeded);
  EXPECT_EQ(extension_.called["destroy"], 1u) << "nobody knows whether it was made";
}

TEST_F(ExtensionTest, WhatItMadeBeforeItDiedIsRemovedWhenItIsBack) {
  ASSERT_TRUE(run_task(loop_, driver().probe()));
  extension_.afterwards["create"] = "";
  extension_.instead["destroy"] = "";

  const auto sandbox = create();

  ASSERT_FALSE(sandbox);
  EXPECT_EQ(sandbox.error().code(), Code::unavailable);
  EXPECT_EQ(extension_.sandboxes.size(), 1u);
  extension_.instead.clear();
  extension_.afterwards.clear();
  go_on_until([&] { return extension_.sandboxes.empty(); });
}

TEST_F(ExtensionTest, AnAgentThatIsNoneIsNoSandbox) {
  extension_.stranger = 64;

  const auto sandbox = create();

  ASSERT_FALSE(sandbox);
  EXPECT_EQ(sandbox.error().code(), Code::unavailable);
  EXPECT_THAT(extension_.sandboxes, IsEmpty());
}

TEST_F(ExtensionTest, ATakenIdIsRefusedAndLeftAlone) {
  extension_.sandboxes[id_] = "another instance";

  const auto sandbox = create();

  ASSERT_FALSE(sandbox);
  EXPECT_EQ(sandbox.error().code(), Code::already_exists);
  EXPECT_EQ(extension_.sandboxes.size(), 1u);
}

TEST_F(ExtensionTest, SandboxesOfOthersAreNotListedAndNotEnded) {
  const auto own = create();
  ASSERT_TRUE(own) << own.error().message();
  const std::string other = make_sandbox_id();
  extension_.sandboxes[other] = "another instance";
  extension_.sandboxes["../../etc"] = "";

  EXPECT_THAT(*run_task(loop_, driver().list()), ElementsAre(id_));
  EXPECT_TRUE(run_task(loop_, driver().destroy_orphan(other)));
  EXPECT_TRUE(extension_.sandboxes.contains(other));
  const auto attached = run_task(loop_, driver().attach(other));
  ASSERT_FALSE(attached);
  EXPECT_EQ(attached.error().code(), Code::not_found);
}

TEST_F(ExtensionTest, AnEndIsTold) {
  const auto sandbox = create();
  ASSERT_TRUE(sandbox) << sandbox.error().message();
  go_on_until([&] { return extension_.called["list"] == 1; });  // somebody listens

  extension_.end(id_, native::kAgentExpired);

  go_on_until([&] { return ended_.contains(id_); });
  EXPECT_EQ(ended_[id_], EndedBy::expiry);
  EXPECT_FALSE((*sandbox)->is_running());
}

TEST_F(ExtensionTest, AnEndThatIsNoneIsNotBelieved) {
  const auto sandbox = create();
  ASSERT_TRUE(sandbox) << sandbox.error().message();
  go_on_until([&] { return extension_.called["list"] == 1; });

  extension_.end(id_, std::nullopt);
  extension_.sandboxes[id_] = "it is there again";

  go_on_until([&] { return extension_.called["list"] == 2; });
  go_on_until([&] { return loop_.poll() == 0; });
  EXPECT_THAT(ended_, IsEmpty());
  EXPECT_TRUE((*sandbox)->is_running());
}

TEST_F(ExtensionTest, WithTheLastSandboxItIsNotListenedToAnyMore) {
  const auto sandbox = create();
  ASSERT_TRUE(sandbox) << sandbox.error().message();
  go_on_until([&] { return extension_.listening() == 1; });

  EXPECT_TRUE(run_task(loop_, (*sandbox)->destroy()));

  go_on_until([&] { return extension_.listening() == 0; });
  EXPECT_THAT(ended_, IsEmpty());
}

TEST_F(ExtensionTest, ItsDeathEndsCallsAndItsReturnTellsWhatIsGone) {
  const std::string gone = make_sandbox_id();
  const auto stays = create();
  SandboxSpec spec;
  spec.id = gone;
  const auto goes = create(std::move(spec));
  ASSERT_TRUE(stays && goes);

  extension_.stop();
  const auto stopped = run_task(loop_, (*stays)->stop());
  extension_.sandboxes.erase(gone);
  extension_.start();

  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), Code::unavailable);
  go_on_until([&] { return ended_.contains(gone); });
  EXPECT_EQ(ended_.size(), 1u);
  EXPECT_TRUE(run_task(loop_, (*stays)->stop())) << "the agent is reached again";
}

TEST_F(ExtensionTest, AnotherDaemonFindsItAgainAndAnAnsweringAgentIsShownItsToken) {
  extension_.reached = Reached::answers;
  auto sandbox = create();
  ASSERT_TRUE(sandbox) << sandbox.error().message();
  sandbox->reset();
  driver_.reset();

  const auto attached = run_task(loop_, driver().attach(id_));

  ASSERT_TRUE(attached) << attached.error().message();
  EXPECT_EQ(extension_.last_token.size(), native::kTokenBytes);
  EXPECT_TRUE(run_task(loop_, (*attached)->renew(system_clock().boot() + Millis(60'000))));
}

TEST_F(ExtensionTest, WhatItCannotDoIsNotAskedOfIt) {
  SandboxSpec spec;
  spec.resources.pids = 10;
  const auto limited = create(std::move(spec));
  SandboxSpec with_image;
  with_image.image = "debian";
  const auto image = create(std::move(with_image));

  ASSERT_FALSE(limited);
  EXPECT_EQ(limited.error().code(), Code::unsupported);
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code(), Code::unsupported);
  EXPECT_EQ(extension_.called["create"], 0u);
}

TEST_F(ExtensionTest, PauseAndResumeAreItsOwnAndWhatItDoesNotClaimIsNotCalled) {
  const auto sandbox = create();
  ASSERT_TRUE(sandbox) << sandbox.error().message();

  EXPECT_TRUE(run_task(loop_, (*sandbox)->pause()));
  EXPECT_TRUE(run_task(loop_, (*sandbox)->resume()));
  const auto resized = run_task(loop_, (*sandbox)->resize({.memory_mb = 64}));

  EXPECT_EQ(extension_.called["pause"], 1u);
  EXPECT_EQ(extension_.called["resume"], 1u);
  ASSERT_FALSE(resized);
  EXPECT_EQ(resized.error().code(), Code::unsupported);
  EXPECT_EQ(extension_.called["resize"], 0u);
}

TEST_F(ExtensionTest, ItsRefusalsArePassedOn) {
  extension_.claim.resize = true;
  const auto sandbox = create();
  ASSERT_TRUE(sandbox) << sandbox.error().message();
  extension_.instead["resize"] =
      "{\"error\":{\"code\":\"out_of_space\",\"message\":\"full\",\"hint\":\"buy more\"}}\n";

  const auto resized = run_task(loop_, (*sandbox)->resize({.memory_mb = 64}));

  ASSERT_FALSE(resized);
  EXPECT_EQ(resized.error().code(), Code::out_of_space);
  EXPECT_EQ(resized.error().message(), "extension scripted: full");
  EXPECT_EQ(resized.error().hint(), "buy more");
}

}  // namespace
}  // namespace atl::extension
