// Kernel keyrings are outside every namespace but the user's: keys of uid 1000 of the host are keys
// of uid 1000 in a box without a user namespace, and so is the quota of 200.
#include <linux/keyctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

namespace {

std::string missing_keys() { return missing_file("/proc/keys"); }

long add_key(const std::string& name, const std::string& value, long ring) {
  return syscall(SYS_add_key, "user", name.c_str(), value.data(), value.size(), ring);
}

}  // namespace

ATTACK(add_key_call, .title = "add a key to the kernel", .dossier = 12,
       .stopped_by = Layer::seccomp, .missing = missing_keys) {
  const long key = add_key("atoll-attack", "x", KEY_SPEC_PROCESS_KEYRING);
  if (key < 0) return denied("add_key");
  return reached("a key in the process keyring");
}

ATTACK(key_of_victim, .title = "read a key of the host's user 1000", .dossier = 12,
       .stopped_by = Layer::seccomp | Layer::user_namespace, .rootless = kNoControl,
       .missing = missing_keys) {
  if (told("VICTIM_KEY").empty()) return not_applicable("the victim has no key");
  const long key = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user",
                           told("VICTIM_KEY").c_str(), 0);
  if (key < 0) return denied("keyctl(KEYCTL_SEARCH)");
  char text[128] = {};
  if (syscall(SYS_keyctl, KEYCTL_READ, key, text, sizeof text - 1) < 0) {
    return denied("keyctl(KEYCTL_READ)");
  }
  if (text != canary()) return denied(ENOKEY, "that was another key");
  return reached("the victim's key");
}

// The host then looks whether its user 1000 can still have a key.
ATTACK(key_exhaustion, .title = "use up the keys of the host's user 1000", .dossier = 37,
       .setting = Setting::held, .stopped_by = Layer::seccomp | Layer::user_namespace,
       .rootless = kNoControl, .missing = missing_keys) {
  std::vector<long> keys;
  int error = 0;
  const auto take = [&] {
    while (keys.size() < 1'000) {
      const long key =
          add_key("atoll-attack-" + std::to_string(keys.size()), "x", KEY_SPEC_PROCESS_KEYRING);
      if (key < 0) {
        error = errno;
        return;
      }
      keys.push_back(key);
    }
  };
  take();
  hold(std::to_string(keys.size()) + " keys", take);
  for (const long key : keys) syscall(SYS_keyctl, KEYCTL_INVALIDATE, key);
  return denied(error, std::to_string(keys.size()) + " keys");
}
