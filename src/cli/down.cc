// `atoll down`: ends every sandbox, and the daemon.
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>

#include <chrono>

#include "cli/client.h"
#include "cli/output_pipe.h"
#include "cli/verbs.h"
#include "os/file.h"

namespace atl::cli {
namespace {

constexpr std::chrono::seconds kPatience{60};

constexpr Flag kFlags[] = {
    {"leave", 0, "", "leave the sandboxes running for the next daemon"},
};

// The daemon holds its state directory's lock until it is gone.
Result<> wait_until_gone(const std::string& socket) {
  const std::string lock_path = socket.substr(0, socket.rfind('/') + 1) + "lock";
  const auto lock = os::open_at(AT_FDCWD, lock_path, O_RDONLY);
  if (!lock) return {};  // another user's; that it said yes has to do
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (flock(lock->get(), LOCK_SH | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() > give_up) {
      return Error(Code::deadline_exceeded, "the daemon agreed to stop but is still there")
          .with_hint("its log tells what it waits for");
    }
    const timespec pause{0, 5'000'000};
    nanosleep(&pause, nullptr);
  }
  return {};
}

Result<int> down(Context& context) {
  TRY(const TargetSearch search, find_target(context.args, find_variable));
  if (!search.found) return no_daemon(search);
  TRY(const auto client, connect_client(context, *search.found));
  const bool leave = context.args.has("leave");
  TRY_OK(
      client->post("/v1/shutdown", leave ? R"({"sandboxes":"leave"})" : R"({"sandboxes":"end"})"));
  if (!search.socket.empty()) TRY_OK(wait_until_gone(search.socket));
  if (context.json()) {
    TRY_OK(print(leave ? R"({"ok":true,"sandboxes":"left"})"
                         "\n"
                       : R"({"ok":true,"sandboxes":"ended"})"
                         "\n"));
  }
  return 0;
}

}  // namespace

const Verb kDownVerb{
    .grammar = {.verb = "down", .usage = "[FLAGS]", .flags = {kFlags, kEverywhereFlags}},
    .group = kDaemonGroup,
    .summary = "End every sandbox and the daemon",
    .more = "",
    .run = down};

}  // namespace atl::cli
