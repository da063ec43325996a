#include "policy/quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/quota_reader.h"

namespace atl::policy {
namespace {

using testing::HasSubstr;

Error error_of(std::string_view text) {
  auto read = read_quotas(text, "quotas.yaml", {});
  EXPECT_FALSE(read) << text;
  return read ? Error(Code::internal, "no error") : read.error();
}

TEST(QuotaFile, ATenantHasAFloorOfItsOwn) {
  const auto quotas = read_quotas(R"(
default: {placement: own}
tenants:
  bank: {min_isolation: vm, placement: host}
  lab: {min_isolation: none}
)",
                                  "q.yaml", {});

  ASSERT_TRUE(quotas) << quotas.error().message();
  EXPECT_EQ(quotas->of("bank").min_isolation, Isolation::vm);
  EXPECT_EQ(quotas->of("bank").placement, Placement::host);
  EXPECT_EQ(quotas->of("lab").placement, Placement::own);
  EXPECT_EQ(quotas->of("anybody").min_isolation, std::nullopt);
  EXPECT_FALSE(read_quotas("default: {min_isolation: strong}", "q.yaml", {}));
  EXPECT_FALSE(read_quotas("host: {min_isolation: vm}", "q.yaml", {}));
}

TEST(Quotas, ASandboxWithoutALimitCountsAsAssumed) {
  const Quotas quotas;

  EXPECT_EQ(amounts_of({}, quotas.assumed),
            (Amounts{.sandboxes = 1, .milli_cpus = 1'000, .memory_mb = 2'048, .disk_mb = 1'024}));
  EXPECT_EQ(amounts_of({.cpu = 0.5, .memory_mb = 64, .disk_mb = 10}, quotas.assumed),
            (Amounts{.sandboxes = 1, .milli_cpus = 500, .memory_mb = 64, .disk_mb = 10}));
}

TEST(Quotas, SumsAreExactHoweverOftenSomethingComesAndGoes) {
  Amounts used;
  const Amounts tenth = amounts_of({.cpu = 0.1}, Quotas{}.assumed);

  for (int i = 0; i < 100'000; ++i) used += tenth;
  for (int i = 0; i < 100'000; ++i) used -= tenth;

  EXPECT_EQ(used, Amounts{});
}

TEST(Quotas, AShortageSaysWhichLimitAndHowMuchIsUsed) {
  const Quota quota{.milli_cpus = 4'000};

  const auto shortage = find_shortage(quota, {.milli_cpus = 3'000}, {.milli_cpus = 1'500});

  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->limit, "cpus");
  EXPECT_EQ(shortage->words(), "has 3 of 4 processors and asks for 1.5 more");
  EXPECT_FALSE(find_shortage(quota, {.milli_cpus = 3'000}, {.milli_cpus = 1'000}));
}

TEST(Quotas, WhoHasTooMuchOfOneThingMayHaveAnother) {
  const Quota quota{.milli_cpus = 1'000, .memory_mb = 1'000};

  EXPECT_FALSE(find_shortage(quota, {.milli_cpus = 5'000}, {.memory_mb = 10}));
  EXPECT_TRUE(find_shortage(quota, {.milli_cpus = 5'000}, {.milli_cpus = 1}));
}

TEST(QuotaFile, TenantsAreAsUsualWhereTheySayNothing) {
  const auto quotas = read_quotas(
      "default: {sandboxes: 10, cpus: 2.5, memory: 4g, creates_per_s: 0.5, at_once: 3}\n"
      "tenants:\n"
      "  search: {sandboxes: 20, memory: none}\n"
      "  'uid:1000': {disk: 100}\n"
      "host: {memory: 64g}\n"
      "assumed: {memory: 128m}\n",
      "quotas.yaml", {});

  ASSERT_TRUE(quotas) << quotas.error().message();
  EXPECT_EQ(quotas->of("somebody").sandboxes, 10);
  EXPECT_EQ(quotas->of("somebody").milli_cpus, 2'500);
  EXPECT_EQ(quotas->of("somebody").memory_mb, 4'096);
  EXPECT_EQ(quotas->of("search").sandboxes, 20);
  EXPECT_EQ(quotas->of("search").memory_mb, std::nullopt);
  EXPECT_EQ(quotas->of("search").creates_per_s, 0.5);
  EXPECT_EQ(quotas->of("uid:1000").disk_mb, 100);
  EXPECT_EQ(quotas->of("uid:1000").at_once, 3);
  EXPECT_EQ(quotas->host.memory_mb, 65'536);
  EXPECT_EQ(quotas->assumed.memory_mb, 128);
  EXPECT_EQ(quotas->assumed.disk_mb, 1'024);
}

TEST(QuotaFile, FlagsAreWhatAFileDoesNotSay) {
  const auto quotas =
      read_quotas("default: {sandboxes: 10}\n", "quotas.yaml", {.usual = {.memory_mb = 512}});

  ASSERT_TRUE(quotas);
  EXPECT_EQ(quotas->usual.sandboxes, 10);
  EXPECT_EQ(quotas->usual.memory_mb, 512);
}

TEST(QuotaFile, SaysWhereItIsWrong) {
  EXPECT_THAT(error_of("tenants:\n  search: {sandboxes: 0}\n").message(),
              HasSubstr("quotas.yaml:2: tenants.search: sandboxes: it is more than 0"));
  EXPECT_THAT(error_of("default: {sandbox: 3}\n").message(), HasSubstr("did you mean sandboxes?"));
  EXPECT_THAT(error_of("default: {sandboxes: 1.5}\n").message(), HasSubstr("whole number"));
  EXPECT_THAT(error_of("default: {memory: lots}\n").message(), HasSubstr("default: memory:"));
  EXPECT_THAT(error_of("default: {creates_per_s: -1}\n").message(), HasSubstr("more than 0"));
  EXPECT_THAT(error_of("host: {sandboxes: 3}\n").message(), HasSubstr("unknown field"));
  EXPECT_THAT(error_of("tenants:\n  'a b': {}\n").message(), HasSubstr("no tenant is called so"));
  EXPECT_THAT(error_of("default: [\n").message(), HasSubstr("quotas.yaml"));
}

TEST(QuotaFile, IsAPlainFile) {
  EXPECT_THAT(read_quota_file("/dev/null", {}).error().message(), HasSubstr("no plain file"));
  EXPECT_EQ(read_quota_file("/nowhere/quotas.yaml", {}).error().code(), Code::not_found);
}

}  // namespace
}  // namespace atl::policy
