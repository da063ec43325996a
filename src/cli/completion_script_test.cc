#include "cli/completion_script.h"

#include <gtest/gtest.h>

#include "cli/manual.h"

namespace atl::cli {
namespace {

TEST(CompletionScript, KnowsEveryVerbAndFlag) {
  for (const std::string& script :
       {bash_script(all_verbs()), zsh_script(all_verbs()), fish_script(all_verbs())}) {
    for (const Verb* verb : all_verbs()) {
      EXPECT_NE(script.find(verb->grammar.verb), std::string::npos) << verb->grammar.verb;
      for (const auto& group : verb->grammar.flags) {
        for (const Flag& flag : group) {
          EXPECT_NE(script.find(flag.name), std::string::npos) << flag.name;
        }
      }
    }
  }
}

TEST(CompletionScript, KnowsWhichVerbsTakeASandbox) {
  EXPECT_TRUE(takes_sandbox(*find_verb("exec")));
  EXPECT_TRUE(takes_sandbox(*find_verb("rm")));
  EXPECT_FALSE(takes_sandbox(*find_verb("run")));
  EXPECT_FALSE(takes_sandbox(*find_verb("ps")));
}

TEST(Manual, NoLineIsTakenForARequestByMistake) {
  const std::string page = manual_page(all_verbs(), "1.2.3");

  EXPECT_NE(page.find(".SS \"atoll run"), std::string::npos);
  EXPECT_LT(page.find(".SH VERBS: Run\n"), page.find(".SS \"atoll run"));
  EXPECT_NE(page.find("atoll 1.2.3"), std::string::npos);
  size_t begin = 0;
  for (size_t end = page.find('\n'); end != std::string::npos; end = page.find('\n', begin)) {
    const std::string line = page.substr(begin, end - begin);
    begin = end + 1;
    if (!line.starts_with('.')) continue;
    const std::string request = line.substr(0, 3);
    EXPECT_TRUE(request == ".TH" || request == ".SH" || request == ".SS" || request == ".TP" ||
                request == ".PP" || request == ".nf" || request == ".fi" || request == ".B ")
        << line;
  }
}

}  // namespace
}  // namespace atl::cli
