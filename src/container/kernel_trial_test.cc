#include "container/kernel_trial.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

namespace atl::container {
namespace {

const KernelView kHost{"6.1.0-13 #1 SMP Debian", "boot-of-the-host", false};

TEST(KernelTrial, TakesNoNameForAProof) {
  EXPECT_EQ(judge_kernel(kHost, kHost).isolation, Isolation::container);
  EXPECT_NE(judge_kernel(kHost, kHost).why, "");
  // It only calls itself something else: the boot is the host's.
  EXPECT_EQ(judge_kernel(kHost, {"2.6.61 #1 SMP Debian", kHost.boot, false}).isolation,
            Isolation::container);
  // Nobody knows which boot it is.
  EXPECT_EQ(judge_kernel(kHost, {"6.6.1 #2", "", false}).isolation, Isolation::container);
  EXPECT_EQ(judge_kernel({kHost.name, "", false}, {"6.6.1 #2", "b", false}).isolation,
            Isolation::container);
  // The engine is in gVisor itself, and so are all its containers.
  const KernelView gvisor{"4.4.0 #1", "", true};
  EXPECT_EQ(judge_kernel(gvisor, gvisor).isolation, Isolation::container);
}

// What is compared with itself is no other kernel.
TEST(KernelTrial, ComparesWithARuntimeThatSharesTheKernel) {
  EngineFacts facts;
  facts.runtimes = {{"runsc", ""}, {"runc", ""}, {"crun", ""}};
  facts.default_runtime = "runsc";
  EXPECT_EQ(find_plain_runtime(facts), "runc");
  facts.default_runtime = "crun";
  EXPECT_EQ(find_plain_runtime(facts), "crun");
  facts.runtimes = {{"runsc", ""}};
  facts.default_runtime = "runsc";
  EXPECT_EQ(find_plain_runtime(facts), "");
}

TEST(KernelTrial, BelievesASecondKernel) {
  const auto sentry = judge_kernel(kHost, {"4.4.0 #1 SMP", "", true});
  EXPECT_EQ(sentry.isolation, Isolation::sentry);
  EXPECT_EQ(sentry.outer_kernel, kHost.name);
  EXPECT_EQ(sentry.why, "");
  EXPECT_EQ(judge_kernel(kHost, {"6.6.1 #2", "another-boot", false}).isolation, Isolation::vm);
}

// An engine that is behind another kernel says nothing about this one, however near its socket is.
TEST(KernelTrial, ComparesWithThisHostOnlyWhatIsOnIt) {
  utsname name{};
  ASSERT_EQ(uname(&name), 0);
  EngineFacts facts;
  facts.kernel = name.release;
  const auto here = view_of_host(facts);
  ASSERT_TRUE(here.has_value()) << here.error().message();
  EXPECT_EQ(here->name, std::string(name.release) + " " + name.version);
  EXPECT_NE(here->boot, "");
  EXPECT_EQ(judge_kernel(*here, *here).isolation, Isolation::container);

  for (const std::string& other : {std::string(), std::string("6.8.0-machine")}) {
    facts.kernel = other;
    const auto elsewhere = view_of_host(facts);
    ASSERT_FALSE(elsewhere.has_value());
    EXPECT_EQ(elsewhere.error().code(), Code::unsupported);
  }
}

TEST(KernelTrial, ReadsWhatTheAgentSaysAndNothingElse) {
  const auto view = parse_kernel_view("4.4.0 #1 SMP\n\ngvisor\n");
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->name, "4.4.0 #1 SMP");
  EXPECT_EQ(view->boot, "");
  EXPECT_TRUE(view->is_gvisor);
  for (const std::string& text :
       {std::string(), std::string("\n\nlinux\n"), std::string("4.4.0\nboot\nwindows\n"),
        std::string("exec failed"), std::string(2000, 'x') + "\nboot\nlinux\n"}) {
    EXPECT_FALSE(parse_kernel_view(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace atl::container
