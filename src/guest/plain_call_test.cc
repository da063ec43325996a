#include "guest/plain_call.h"

#include <gtest/gtest.h>

namespace atl::guest {
namespace {

TEST(PlainCall, IsACallWithoutOptions) {
  EXPECT_EQ(plain_interpreter({"python3", "-c", "print(1)", "a"}, {}, {}), "python3");
  EXPECT_EQ(plain_interpreter({"/usr/bin/python3", "x.py"}, {}, {}), "python3");
  EXPECT_EQ(plain_interpreter({"python3", "-m", "json.tool"}, {}, {}), "python3");
  EXPECT_EQ(plain_interpreter({"node", "x.js", "-v"}, {}, {}), "node");
  EXPECT_EQ(plain_interpreter({"node", "-e", "1"}, {{"A", "b"}}, {{"C", "d"}}), "node");
}

TEST(PlainCall, IsNoOther) {
  for (const auto& argv :
       std::vector<std::vector<std::string>>{{},
                                             {"python3"},
                                             {"python3", ""},
                                             {"python3", "-c"},
                                             {"python3", "-"},
                                             {"python3", "-u", "x.py"},
                                             {"python3", "-cprint(1)"},
                                             {"python3", "--version"},
                                             {"python3", "-I", "-c", "1"},
                                             {"node", "-m", "x"},
                                             {"node", "-p", "1"},
                                             {"/bin/python3", "x"},
                                             {"./python3", "x"},
                                             {"python", "x"},
                                             {"python3.11", "x"},
                                             {"sh", "-c", "python3 -c 1"},
                                             {"/usr/bin/node", "x.js"},
                                             {"node", "inspect", "x.js"},
                                             {"node", "-e", "await 1"},
                                             {"node", "-e", "-1"},
                                             {"node", "-e", "1", "--x"},
                                             {"python3", "-m", ""},
                                             {"python3", "-c", std::string(131'072, '#')}}) {
    EXPECT_EQ(plain_interpreter(argv, {}, {}), "") << (argv.empty() ? "" : argv.back());
  }
}

TEST(PlainCall, ReadsNoVariableBeforeItBegins) {
  for (const char* name : {"PYTHONPATH", "PYTHONHASHSEED", "NODE_OPTIONS", "LD_PRELOAD", "LANG",
                           "LC_ALL", "PATH", "HOME", "MALLOC_ARENA_MAX", "OPENSSL_CONF"}) {
    EXPECT_EQ(plain_interpreter({"python3", "x"}, {{name, ""}}, {}), "") << name;
    EXPECT_EQ(plain_interpreter({"python3", "x"}, {}, {{name, ""}}), "") << name;
  }
}

}  // namespace
}  // namespace atl::guest
