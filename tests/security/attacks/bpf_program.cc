// Loads a BPF map: the verifier is a large target. Unprivileged use is off on sane hosts, so this
// is root's attack.
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/security/attack.h"

using namespace atl::attack;  // NOLINT

ATTACK(bpf_map, .title = "make a BPF map", .dossier = 9, .user = User::root,
       .stopped_by = kPrivilegedCall) {
  bpf_attr wish{};
  wish.map_type = BPF_MAP_TYPE_HASH;
  wish.key_size = 4;
  wish.value_size = 4;
  wish.max_entries = 1;
  const long map = syscall(SYS_bpf, BPF_MAP_CREATE, &wish, sizeof wish);
  if (map < 0) return denied("bpf(BPF_MAP_CREATE)");
  close(static_cast<int>(map));
  return reached("a BPF map");
}
