#include "core/sandbox_tokens.h"

#include "core/engine_world_internal.h"

namespace atl {
namespace {

using std::chrono::seconds;

class SandboxTokensTest : public ::testing::Test {
 protected:
  SandboxTokensTest() {
    world_.add();
    world_.start();
    keys_.emplace(world_.store(), world_.clock);
    id_ = world_.run(world_.engine().create(caller_, {}, {})).value().id;
  }

  SandboxTokens tokens(std::string_view secret = "a secret of the daemon") {
    return {world_.engine(), *keys_, world_.clock, secret};
  }
  std::string make() { return tokens().make(caller_, id_, seconds(60)).value().token; }

  EngineWorld world_;
  std::optional<Keys> keys_;
  const Caller caller_{.tenant = "acme", .subject = "socket"};
  std::string id_;
};

TEST_F(SandboxTokensTest, AreForTheirSandboxInItsTenant) {
  const auto caller = tokens().verify(make());

  ASSERT_TRUE(caller) << caller.error().message();
  EXPECT_EQ(caller->sandbox, id_);
  EXPECT_EQ(caller->tenant, "acme");
  EXPECT_TRUE(world_.engine().get(*caller, id_));
  const auto other = world_.run(world_.engine().create(caller_, {}, {})).value().id;
  EXPECT_EQ(world_.engine().get(*caller, other).error().code(), Code::not_found);
}

TEST_F(SandboxTokensTest, OfAViewerSayWhatTheyAreFor) {
  const auto made = tokens().make(caller_, id_, std::nullopt, TokenMode::read).value().token;

  const auto caller = tokens().verify(made);
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->role, Role::viewer);
  EXPECT_TRUE(may(*caller, Action::read));
  EXPECT_FALSE(may(*caller, Action::use));
  std::string without = made;
  without.erase(without.find(".read"), 5);
  EXPECT_FALSE(tokens().verify(without)) << "whoever takes the word away takes the signature away";
}

TEST_F(SandboxTokensTest, AChangedByteMakesThemWorthless) {
  const std::string good = make();

  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = bad[i] == '0' ? '1' : '0';
    ASSERT_FALSE(tokens().verify(bad)) << i;
  }
  EXPECT_FALSE(tokens().verify(good + "0"));
  EXPECT_FALSE(tokens().verify(good.substr(0, good.size() - 1)));
  EXPECT_FALSE(tokens().verify("ast_"));
  EXPECT_FALSE(tokens().verify("ast_" + std::string(100'000, '.')));
  EXPECT_TRUE(tokens().verify(good));
}

TEST_F(SandboxTokensTest, AnotherSecretKnowsNoneOfThem) {
  const std::string good = make();

  EXPECT_FALSE(tokens("another secret").verify(good));
  EXPECT_FALSE(tokens("").verify(good));
  EXPECT_EQ(tokens("").make(caller_, id_, {}).error().code(), Code::unsupported);
}

TEST_F(SandboxTokensTest, Expire) {
  const std::string good = make();

  world_.clock.advance(seconds(59));
  EXPECT_TRUE(tokens().verify(good));
  world_.clock.advance(seconds(1));
  EXPECT_EQ(tokens().verify(good).error().code(), Code::unauthenticated);
}

TEST_F(SandboxTokensTest, DieWithTheirSandbox) {
  const std::string good = make();

  ASSERT_TRUE(world_.run(world_.engine().destroy(caller_, id_)));

  EXPECT_EQ(tokens().verify(good).error().code(), Code::unauthenticated);
}

TEST_F(SandboxTokensTest, DieWithTheKeyThatGaveThem) {
  const auto key = world_.run(keys_->create({.tenant = "acme"})).value();
  const Caller giver{.tenant = "acme", .subject = key.key.id};
  const std::string good = tokens().make(giver, id_, seconds(60)).value().token;
  ASSERT_TRUE(tokens().verify(good));

  ASSERT_TRUE(world_.run(keys_->revoke(key.key.id)));

  EXPECT_FALSE(tokens().verify(good));
}

TEST_F(SandboxTokensTest, AreMadeOnlyForWhatTheCallerSees) {
  const Caller stranger{.tenant = "other"};
  const Caller agent{.tenant = "acme", .subject = "key2", .role = Role::agent};

  EXPECT_EQ(tokens().make(stranger, id_, {}).error().code(), Code::not_found);
  EXPECT_EQ(tokens().make(agent, id_, {}).error().code(), Code::not_found);
  EXPECT_EQ(tokens().make(caller_, id_, seconds(0)).error().code(), Code::invalid_argument);
  EXPECT_EQ(tokens().make(caller_, id_, seconds(86'401)).error().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace atl
