// atoll-agent: see agent.h. Started by atoll-launcher, with the descriptors of
// native/agent_config.h; by a container engine, with a socket to call (caller.h), or to be reached
// through a relay (answerer.h), which is itself started so (relay.h); behind a second kernel, with
// a gate (gate.h); and as a file tool by itself, see tools/tool.h.
#include <cstdio>
#include <cstring>

#include "agent/agent.h"
#include "agent/answerer.h"
#include "agent/caller.h"
#include "agent/gate.h"
#include "agent/kernel_view.h"
#include "agent/relay.h"
#include "agent/tools/tool.h"
#include "native/oci/gate.h"

namespace {

using atl::agent::Entry;

int refuse(Entry entry, const atl::Error& error) {
  std::fprintf(stderr, "atoll-agent: %s\n", error.message().c_str());
  atl::agent::tell_why_not(entry, error);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const auto is_told = [&](const char* word) {
    return argc == 2 && std::strcmp(argv[1], word) == 0;
  };
  if (is_told("--version")) {
    std::printf("atoll-agent %s\n", ATOLL_VERSION);
    return 0;
  }
  if (is_told(atl::native::kRelayWord)) return atl::agent::run_relay();
  if (is_told(atl::native::kKernelWord))
    return std::fputs(atl::agent::kernel_view().c_str(), stdout) < 0;
  if (argc > 2 && std::strcmp(argv[1], "tool") == 0)
    return atl::agent::run_tool({argv + 2, argv + argc});
  Entry entry = Entry::launcher;
  std::string socket;
  if (argc == 3 && std::strcmp(argv[1], "call") == 0) {
    entry = Entry::caller;
    socket = argv[2];
    if (auto called = atl::agent::call_first(socket); !called) return refuse(entry, called.error());
  }
  if (is_told(atl::native::kAnswerWord)) {
    entry = Entry::answerer;
    if (auto told = atl::agent::answer_first(); !told) return refuse(entry, told.error());
  }
  if (is_told(atl::native::kGateArgument)) {
    entry = Entry::gate;
    if (auto come = atl::agent::come_in_by_gate(); !come) return refuse(entry, come.error());
  }
  auto agent = atl::agent::Agent::create(entry, std::move(socket));
  if (!agent) return refuse(entry, agent.error());
  return (*agent)->run();
}
