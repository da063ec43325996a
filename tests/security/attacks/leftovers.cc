// One sandbox leaves something everywhere it may write; another looks for it: the next one, which
// may have been given the same pooled ids and namespaces, or one that lives beside it on the same
// layers.
#include <fcntl.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

namespace {

constexpr const char* kPlaces[] = {"/tmp",      "/var/tmp",   "/dev/shm",   "/run",
                                   "/run/lock", "/usr/share", "/etc",       "/opt",
                                   "/srv",      "/home",      "/workspace", "/"};

std::string mark(const char* place) { return std::string(place) + "/atoll-left-" + told("TOKEN"); }

key_t shm_key() { return static_cast<key_t>(told_number("LEFT_KEY", 0x42424242)); }

Outcome leave_or_look() {
  if (told("PHASE") == "leave") {
    int left = 0;
    for (const char* place : kPlaces) left += write_all(mark(place), canary()) ? 1 : 0;
    left += shmget(shm_key(), 4096, IPC_CREAT | 0666) >= 0 ? 1 : 0;
    // Not the result: the other phase is.
    return not_applicable("left " + std::to_string(left) + " things");
  }
  for (const char* place : kPlaces) {
    const auto found = read_all(mark(place));
    if (found == canary()) return reached("found " + mark(place));
  }
  if (shmget(shm_key(), 0, 0) >= 0) return reached("found a SysV segment");
  return denied(ENOENT, "nothing of the other sandbox is here");
}

// What lies in the host's own /tmp is there for both.
constexpr Layers kStops = Layer::root;

}  // namespace

ATTACK(pooled_leftovers, .title = "find what the last sandbox left", .dossier = 45,
       .user = User::root, .setting = Setting::twice, .stopped_by = kStops) {
  return leave_or_look();
}

ATTACK(shared_layers, .title = "find what a sandbox beside it wrote", .user = User::root,
       .setting = Setting::beside, .stopped_by = kStops) {
  return leave_or_look();
}
