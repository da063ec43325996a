#include "core/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "base/run_task.h"
#include "store/memory_store.h"

namespace atl {
namespace {

using std::chrono::seconds;
using ::testing::SizeIs;

class KeysTest : public ::testing::Test {
 protected:
  NewKey create(Role role = Role::member, std::optional<seconds> ttl = {}) {
    KeyRequest request{.tenant = "acme", .role = role, .label = "ci", .ttl = ttl};
    return run_task(loop_, keys_.create(std::move(request))).value();
  }
  std::vector<store::KeyRow> stored() { return run_task(loop_, store_.load()).value().keys; }

  asio::io_context loop_;
  FakeClock clock_;
  store::MemoryStore store_{loop_.get_executor()};
  Keys keys_{store_, clock_};
};

TEST_F(KeysTest, ATokenIdentifiesItsTenantAndRole) {
  const auto made = create(Role::admin);

  const auto identity = keys_.verify(made.token);

  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->tenant, "acme");
  EXPECT_EQ(identity->subject, made.key.id);
  EXPECT_EQ(identity->role, Role::admin);
}

TEST_F(KeysTest, TheTokenItselfIsNotStored) {
  const auto made = create();

  const auto rows = stored();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].hash.find(made.token), std::string::npos);
  EXPECT_EQ(rows[0].hash.size(), 64U);
}

TEST_F(KeysTest, AWrongTokenIsUnauthenticated) {
  const auto made = create();

  EXPECT_EQ(keys_.verify("").error().code(), Code::unauthenticated);
  EXPECT_EQ(keys_.verify(made.token + "x").error().code(), Code::unauthenticated);
  EXPECT_EQ(keys_.verify(made.key.id).error().code(), Code::unauthenticated);
}

TEST_F(KeysTest, ARevokedKeyIsWorthNothingAtOnceAndAfterARestart) {
  const auto made = create();

  ASSERT_TRUE(run_task(loop_, keys_.revoke(made.key.id)));
  Keys after(store_, clock_);
  ASSERT_TRUE(run_task(loop_, after.load()));

  EXPECT_FALSE(keys_.verify(made.token));
  EXPECT_FALSE(after.verify(made.token));
  EXPECT_EQ(run_task(loop_, keys_.revoke(made.key.id)).error().code(), Code::not_found);
}

TEST_F(KeysTest, AnExpiredKeyIsWorthNothing) {
  const auto made = create(Role::member, seconds(60));

  EXPECT_TRUE(keys_.verify(made.token));
  clock_.advance(seconds(60));

  EXPECT_FALSE(keys_.verify(made.token));
}

TEST_F(KeysTest, KeysOutliveTheDaemon) {
  const auto made = create(Role::admin, seconds(600));

  Keys after(store_, clock_);
  ASSERT_TRUE(run_task(loop_, after.load()));

  EXPECT_EQ(after.verify(made.token).value().role, Role::admin);
  ASSERT_THAT(after.list(), SizeIs(1));
  EXPECT_EQ(after.list()[0].expires_at, made.key.expires_at);
  EXPECT_EQ(after.list()[0].label, "ci");
}

TEST_F(KeysTest, TheAdminKeyIsMadeOnceHoweverOftenItIsEnsured) {
  const std::string token(43, 'a');

  ASSERT_TRUE(run_task(loop_, keys_.ensure_admin(token)));
  ASSERT_TRUE(run_task(loop_, keys_.ensure_admin(token)));

  EXPECT_THAT(keys_.list(), SizeIs(1));
  EXPECT_EQ(keys_.verify(token).value().role, Role::admin);
  EXPECT_EQ(keys_.verify(token).value().tenant, "default");
  EXPECT_FALSE(run_task(loop_, keys_.ensure_admin("short")));
}

TEST_F(KeysTest, TheFirstKeyIsForgottenBeforeItIsRevoked) {
  const std::string token(43, 'b');
  int forgotten = 0;
  Result<> outcome = Error(Code::out_of_space, "the disk is full");
  const auto forget = [&] {
    ++forgotten;
    return outcome;
  };
  ASSERT_TRUE(run_task(loop_, keys_.ensure_admin(token, forget)));
  const std::string id = keys_.list().at(0).id;

  EXPECT_FALSE(run_task(loop_, keys_.revoke(id))) << "it would come back";
  EXPECT_TRUE(keys_.verify(token));
  outcome = {};
  EXPECT_TRUE(run_task(loop_, keys_.revoke(id)));
  EXPECT_FALSE(keys_.verify(token));
  EXPECT_EQ(forgotten, 2);
}

TEST_F(KeysTest, TheLastUseIsWrittenOncePerMinuteAtMost) {
  const auto made = create();
  const auto first = clock_.wall();

  ASSERT_TRUE(keys_.verify(made.token));
  clock_.advance(seconds(30));
  ASSERT_TRUE(keys_.verify(made.token));

  EXPECT_EQ(stored()[0].last_used_at_ms, first.time_since_epoch().count());
  clock_.advance(seconds(30));
  ASSERT_TRUE(keys_.verify(made.token));
  EXPECT_EQ(stored()[0].last_used_at_ms, clock_.wall().time_since_epoch().count());
}

TEST_F(KeysTest, ARequestThatMakesNoSenseIsRefused) {
  const auto refused = [&](KeyRequest request) {
    return run_task(loop_, keys_.create(std::move(request))).error().code();
  };

  EXPECT_EQ(refused({.tenant = ""}), Code::invalid_argument);
  EXPECT_EQ(refused({.tenant = "uid:1000"}), Code::invalid_argument)
      << "users of the socket have those";
  EXPECT_EQ(refused({.label = "two\nlines"}), Code::invalid_argument);
  EXPECT_EQ(refused({.label = std::string(257, 'a')}), Code::invalid_argument);
  EXPECT_EQ(refused({.ttl = seconds(0)}), Code::invalid_argument);
  EXPECT_EQ(refused({.ttl = std::chrono::hours(24 * 366 * 11)}), Code::invalid_argument);
}

TEST_F(KeysTest, AreNotWithoutNumber) {
  for (size_t i = 0; i < kMostKeys; ++i) ASSERT_TRUE(run_task(loop_, keys_.create({})));

  EXPECT_EQ(run_task(loop_, keys_.create({})).error().code(), Code::resource_exhausted);
}

TEST_F(KeysTest, AKeyIsValidUntilItExpiresOrIsRevoked) {
  const auto kept = create();
  const auto brief = create(Role::member, seconds(60));
  const auto revoked = create();
  ASSERT_TRUE(run_task(loop_, keys_.revoke(revoked.key.id)));

  clock_.advance(seconds(60));

  EXPECT_TRUE(keys_.is_valid(kept.key.id));
  EXPECT_FALSE(keys_.is_valid(brief.key.id));
  EXPECT_FALSE(keys_.is_valid(revoked.key.id));
}

}  // namespace
}  // namespace atl
