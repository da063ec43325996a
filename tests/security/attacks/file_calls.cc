// Swaps a directory and a link that leads out, as fast as it can, while the host calls the file API
// on paths through it; and leaves links to files outside. The host's side is what counts: what the
// API gave back, and what changed in OUTSIDE.
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

namespace {

// The agent resolves beneath its root and through no magic link; and its root holds no host file.
// What it writes Landlock allows in a few places only.
constexpr Layers kReading = Layer::file_api | Layer::root;
constexpr Layers kWriting = kReading | Layer::landlock;

bool stdin_ended() {
  pollfd input{0, POLLIN, 0};
  char byte = 0;
  return poll(&input, 1, 0) == 1 && read(0, &byte, 1) <= 0;
}

std::string place() { return "atoll-swap-" + told("TOKEN"); }

// PLACE/turn is now a directory and now a link to OUTSIDE.
Outcome swap_links() {
  const std::string turn = place() + "/turn";
  const std::string link = place() + "/link";
  mkdir(place().c_str(), 0777);
  mkdir(turn.c_str(), 0777);
  chmod(turn.c_str(), 0777);
  write_all(turn + "/file", "inside");
  if (symlink(told("OUTSIDE").c_str(), link.c_str()) != 0) return denied("symlink");
  std::printf("{\"holding\":\"swapping\"}\n");
  std::fflush(stdout);
  long turns = 0;
  while (turns < 200'000'000 && (turns % 64 != 0 || !stdin_ended())) {
    if (syscall(SYS_renameat2, AT_FDCWD, turn.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE) !=
        0) {
      // The host may have moved or removed one; make it anew.
      mkdir(turn.c_str(), 0777);
      (void)!symlink(told("OUTSIDE").c_str(), link.c_str());
    }
    ++turns;
  }
  return denied(0, std::to_string(turns) + " turns; the host decides");
}

}  // namespace

ATTACK(link_read, .title = "file API: read through a link that leads out", .dossier = 32,
       .setting = Setting::file_api, .stopped_by = kReading) {
  mkdir(place().c_str(), 0777);
  if (symlink(told("SECRET").c_str(), (place() + "/link").c_str()) != 0) return denied("symlink");
  hold("link");
  return denied(0, "the host decides");
}

#define SWAPPED(call, stops)                                                                 \
  ATTACK(swap_##call, .title = "file API: " #call " while links are swapped", .dossier = 33, \
         .setting = Setting::file_api, .stopped_by = stops) {                                \
    return swap_links();                                                                     \
  }
SWAPPED(read, kReading)
SWAPPED(stat, kReading)
SWAPPED(list, kReading)
SWAPPED(write, kWriting)
SWAPPED(mkdir, kWriting)
SWAPPED(move, kWriting)
SWAPPED(remove, kWriting)
