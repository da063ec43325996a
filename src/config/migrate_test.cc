#include "config/migrate.h"

#include <gmock/gmock.h>

namespace atl::config {
namespace {

std::optional<std::string> environment(std::string_view) { return "5"; }

std::string migrated(std::string_view text) {
  return migrate(read_settings(text, "atoll.yaml", environment), text);
}

TEST(Migrate, UsesOurWordsAndUnits) {
  EXPECT_EQ(
      migrated("defaults:\n  timeout: 30_000\n  resources: { memory: '256m', cpus: 0.5, pidsLimit: "
               "100 }\n"
               "  network: { mode: 'none' }\nrun_mode: aws_lambda\n"),
      "run_mode: lambda\n\nsandbox:\n  timeout: 30s\n  memory: 256m\n  cpus: 0.5\n  pids: 100\n"
      "  network: none\n");
}

TEST(Migrate, KeepsComments) {
  EXPECT_EQ(migrated("# about this file\nsandbox:\n  # enough\n  memory_mb: 512  # MiB\n  user: "
                     "\"#1\"\n# the end\n"),
            "sandbox:\n  # about this file\n  # enough\n  # MiB\n  memory: 512m\n  user: \"#1\"\n# "
            "the end\n");
}

TEST(Migrate, KeepsVariablesUnderANameThatMeansTheSame) {
  EXPECT_EQ(
      migrated(
          "defaults: {timeout: \"${T}\", memory: \"${M}\", cpu: \"${C}\", storage: \"${S}\"}\n"),
      "sandbox:\n  timeout_ms: \"${T}\"\n  memory: \"${M}\"\n  cpu: \"${C}\"\n  storage: "
      "\"${S}\"\n");
}

TEST(Migrate, QuotesWhatWouldBeReadAsSomethingElse) {
  EXPECT_EQ(
      migrated("sandbox: {env: {A: '1', B: 'true', C: 'a: b', D: plain, E: '', F: '$${X}'}}\n"),
      "sandbox:\n  env:\n    A: \"1\"\n    B: \"true\"\n    C: \"a: b\"\n    D: plain\n    E: "
      "\"\"\n    F: \"$${X}\"\n");
}

}  // namespace
}  // namespace atl::config
