#include "cli/attack_card.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/json_view.h"

namespace atl::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const AttackedDriver kNative{"native", "container", true, true};
const AttackedDriver kRootless{"rootless", "container", false, false};
const AttackedDriver kSubprocess{"subprocess", "process", false, false};

AttackRow row(AttackOutcome outcome = AttackOutcome::broken) {
  AttackRow made;
  made.attack = {.name = "mount_tmpfs",
                 .title = "mount a tmpfs",
                 .cve = "",
                 .user = "root",
                 .setting = "plain",
                 .stopped_by = {"user_namespace", "seccomp"},
                 .rootless = {"seccomp"}};
  made.outcome = outcome;
  return made;
}

AttackRow judged(std::string_view result) {
  AttackRow made = row();
  const auto parsed = json::parse(result);
  EXPECT_TRUE(parsed.has_value());
  if (parsed) judge_run(made, *parsed);
  return made;
}

TEST(AttackCard, ReadsTheCatalogue) {
  const auto attacks = parse_catalogue(
      R"({"attacks":[{"name":"a","title":"t","dossier":1,"cve":"","user":"root","setting":"plain",
          "stopped_by":["seccomp","landlock"],"rootless":[]}],"uncovered":[]})");
  ASSERT_TRUE(attacks.has_value());
  ASSERT_EQ(attacks->size(), 1U);
  EXPECT_THAT((*attacks)[0].stopped_by, ElementsAre("seccomp", "landlock"));
}

TEST(AttackCard, AnEmptyOrForeignCatalogueIsAnError) {
  EXPECT_FALSE(parse_catalogue("").has_value());
  EXPECT_FALSE(parse_catalogue("[]").has_value());
  EXPECT_FALSE(parse_catalogue(R"({"attacks":[]})").has_value());
  EXPECT_FALSE(parse_catalogue(R"({"attacks":[{"title":"nameless"}]})").has_value());
}

TEST(AttackCard, TakesTheOutcomeThatTheAttackTells) {
  const auto denied = judged(
      R"({"exit_code":0,"reason":"exited","stdout":"{\"attack\":\"mount_tmpfs\",\"outcome\":\"denied\",\"errno\":1,\"error\":\"EPERM\",\"detail\":\"mount\"}\n"})");
  EXPECT_EQ(denied.outcome, AttackOutcome::denied);
  EXPECT_EQ(denied.detail, "mount: EPERM");
}

TEST(AttackCard, AnExitCodeThatSaysReachedCannotBeTalkedAway) {
  const auto made = judged(
      R"({"exit_code":10,"reason":"exited","stdout":"{\"attack\":\"mount_tmpfs\",\"outcome\":\"denied\"}\n"})");
  EXPECT_EQ(made.outcome, AttackOutcome::reached);
}

TEST(AttackCard, SilenceIsBrokenAndNeverDenied) {
  EXPECT_EQ(judged(R"({"exit_code":0,"reason":"exited","stdout":""})").outcome,
            AttackOutcome::broken);
  EXPECT_EQ(judged(R"({"exit_code":0,"stdout":"{\"attack\":\"another\",\"outcome\":\"denied\"}"})")
                .outcome,
            AttackOutcome::broken);
  EXPECT_EQ(judged(R"({"exit_code":127,"reason":"exited","stderr":"not found"})").outcome,
            AttackOutcome::broken);
  EXPECT_EQ(judged(R"({"exit_code":124,"reason":"timeout"})").outcome, AttackOutcome::broken);
}

TEST(AttackCard, DeathByTheFilterOrForMemoryIsADenial) {
  EXPECT_EQ(judged(R"({"exit_code":159,"reason":"signaled"})").outcome, AttackOutcome::denied);
  EXPECT_EQ(judged(R"({"exit_code":137,"reason":"oom"})").outcome, AttackOutcome::denied);
}

TEST(AttackCard, ClaimsAreThoseOfTheDriver) {
  EXPECT_THAT(claimed_layers(row().attack, kNative), ElementsAre("user_namespace", "seccomp"));
  EXPECT_THAT(claimed_layers(row().attack, kRootless), ElementsAre("seccomp"));
  EXPECT_THAT(claimed_layers(row().attack, kSubprocess), ElementsAre("seccomp"));
}

TEST(AttackCard, WhatTheDriverHasNoLayerAgainstIsNotCoveredAndNeverPassed) {
  AttackRow made = row(AttackOutcome::reached);
  made.attack.stopped_by = {"pid_namespace"};
  settle_claim(made, kSubprocess);
  EXPECT_EQ(made.outcome, AttackOutcome::not_covered);

  AttackRow bomb = row(AttackOutcome::reached);  // on a host whose cgroups the user does not have
  bomb.attack.rootless = {"cgroups"};
  settle_claim(bomb, kRootless);
  EXPECT_EQ(bomb.outcome, AttackOutcome::not_covered);

  AttackRow of_root = row(AttackOutcome::reached);  // nothing to switch off, and still no excuse
  of_root.attack.rootless = {};
  settle_claim(of_root, kRootless);
  EXPECT_EQ(of_root.outcome, AttackOutcome::reached);

  AttackRow strong = row(AttackOutcome::reached);
  settle_claim(strong, kNative);
  EXPECT_EQ(strong.outcome, AttackOutcome::reached);
}

TEST(AttackCard, WhatASecondKernelHasOfItsOwnIsNotTheHosts) {
  const AttackedDriver gvisor{"gvisor", "sentry", true, false};
  AttackRow own = row(AttackOutcome::reached);
  own.attack.name = "high_priority";
  settle_claim(own, gvisor);
  EXPECT_EQ(own.outcome, AttackOutcome::not_applicable);
  EXPECT_THAT(own.detail, HasSubstr("the host's scheduler does not see it"));

  AttackRow other = row(AttackOutcome::reached);
  settle_claim(other, gvisor);
  EXPECT_EQ(other.outcome, AttackOutcome::reached);

  AttackRow on_native = row(AttackOutcome::reached);
  on_native.attack.name = "high_priority";
  settle_claim(on_native, kNative);
  EXPECT_EQ(on_native.outcome, AttackOutcome::reached);
}

TEST(AttackCard, HoldsOnlyIfSomethingWasDeniedAndNothingReachedOrBroken) {
  EXPECT_TRUE(holds({row(AttackOutcome::denied), row(AttackOutcome::not_covered)}));
  EXPECT_FALSE(holds({row(AttackOutcome::denied), row(AttackOutcome::reached)}));
  EXPECT_FALSE(holds({row(AttackOutcome::denied), row(AttackOutcome::broken)}));
  EXPECT_FALSE(holds({row(AttackOutcome::not_covered)}));
  EXPECT_FALSE(holds({}));
}

TEST(AttackCard, TheCardCountsEveryOutcome) {
  const std::vector<AttackRow> rows{row(AttackOutcome::denied), row(AttackOutcome::denied),
                                    row(AttackOutcome::not_covered)};
  EXPECT_THAT(format_card(rows, kNative),
              HasSubstr("2 denied, 0 REACHED, 0 BROKEN, 1 not covered, 0 not applicable"));
  const auto told = parse_answer(card_to_json(rows, kNative));
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(number_at(*told, "totals.denied"), 2);
  EXPECT_EQ(number_at(*told, "totals.not_covered"), 1);
  EXPECT_EQ(list_at(*told, "attacks").size(), 3U);
}

}  // namespace
}  // namespace atl::cli
