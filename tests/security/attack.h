// One attack: what it tries, what has to be switched off for it to succeed, and its code.
//
// Every file of attacks/ registers one attack, or a few variants of one idea:
//
//   ATTACK(mount_tmpfs, .title = "mount a tmpfs", .dossier = 1, .user = User::root,
//          .stopped_by = Layer::seccomp | Layer::capabilities) {
//     if (mount("none", "/tmp", "tmpfs", 0, nullptr) != 0) return denied("mount");
//     return reached("a tmpfs over /tmp");
//   }
//
// An attack is honest in both directions. It says `reached` only for what it really holds: a
// canary's content, a connection, a permission check that was passed. And it does no harm when it
// succeeds: what cannot be undone is only opened, or called with arguments that fail after the
// permission check; loops and memory are bounded; only the victim of the suite is ever killed.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

namespace atl::attack {

// The layers of a sandbox. The names are those of ATOLL_TEST_WITHOUT.
enum class Layer : uint8_t {
  user_namespace,     // own id range; also what keeps it from being made anew inside
  mount_namespace,    //
  pid_namespace,      //
  ipc_namespace,      //
  uts_namespace,      //
  cgroup_namespace,   //
  network_namespace,  //
  root,               // own root file system: pivot, read-only, nosuid, nodev, own /dev
  proc_masks,         // what /proc hides: other processes, kernel files
  capabilities,       // capability drop, securebits; off: uid 0 of the box keeps all of them
  no_new_privileges,  //
  seccomp,            //
  landlock,           //
  rlimits,            //
  cgroups,            // limits of memory, pids, cpu; and of the disk
  descriptors,        // close_range before exec
  file_api,           // the agent resolves paths beneath the roots, without magic links
};
constexpr int kLayers = 17;
const char* name_of(Layer layer);

// A set of layers.
class Layers final {
 public:
  constexpr Layers() = default;
  constexpr Layers(Layer layer) : bits_(1U << static_cast<unsigned>(layer)) {}  // NOLINT: implicit
  constexpr bool has(Layer layer) const { return (bits_ & Layers(layer).bits_) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr Layers without(Layer layer) const {
    Layers rest;
    rest.bits_ = bits_ & ~Layers(layer).bits_;
    return rest;
  }
  static constexpr Layers no_control() {
    Layers none;
    none.bits_ = 1U << 31;
    return none;
  }
  friend constexpr Layers operator|(Layers a, Layers b) {
    Layers both;
    both.bits_ = a.bits_ | b.bits_;
    return both;
  }

 private:
  uint32_t bits_ = 0;
};
constexpr Layers operator|(Layer a, Layer b) { return Layers(a) | Layers(b); }
// For `rootless`: nothing that could be switched off lets it through.
constexpr Layers kNoControl = Layers::no_control();

// Whether a layer holds against an attack is only known if nothing else is in the way. These are
// the sets that come again and again, with the reason why each member suffices alone.

// A call that asks for a capability over the host's user namespace: it is filtered, dropped, and
// means nothing from inside another user namespace.
constexpr Layers kPrivilegedCall = Layer::seccomp | Layer::capabilities | Layer::user_namespace;
// A change of mounts: Landlock forbids it to whoever it confines, too.
constexpr Layers kMountCall = kPrivilegedCall | Layer::landlock;
// Access to a process outside, which runs as uid 1000 of the host: its pid is no one's here, its
// uid is another's, and Landlock keeps ptrace and signals inside its domain.
constexpr Layers kOutsideProcess = Layer::pid_namespace | Layer::user_namespace | Layer::landlock;

enum class User : uint8_t { user, root };  // uid 1000, or uid 0 of the box

// What the attack needs around it; `plain` is one run in a fresh sandbox. See scorecard.py.
enum class Setting : uint8_t {
  plain,
  limited,   // small limits: ATOLL_ATTACK_LIMIT_…; being killed for memory is a denial
  terminal,  // a pseudo-terminal, the controlling terminal of whoever runs it, as stdio
  held,      // it says `holding`, and ends when its stdin does; the host looks in between
  daemon,    // run through a daemon, so that the launcher's pid is known
  file_api,  // it swaps links until its stdin ends, while the host calls the file API
  twice,     // `leave` in one sandbox, which is destroyed; then `look` in the next
  beside,    // `leave` in one sandbox, which stays; `look` in another
  outlive,   // the sandbox is destroyed; does something of it live on?
  workdir,   // the working directory is asked to be /proc/self/fd/N
  script,    // meanwhile the host runs ATOLL_ATTACK_SCRIPT in the same sandbox
};
const char* name_of(Setting setting);

struct Outcome {
  enum class Kind : uint8_t { reached, denied, not_applicable } kind;
  int error = 0;
  std::string detail;
};
Outcome reached(std::string what);
// The call that failed; errno says why.
Outcome denied(std::string call);
Outcome denied(int error, std::string call);
Outcome not_applicable(std::string why);

struct Attack {
  const char* name = "";
  const char* title = "";
  int dossier = 0;       // its number in the list of the security recipe; 0: beyond the list
  const char* cve = "";  // "CVE-2019-5736"
  User user = User::user;
  Setting setting = Setting::plain;
  // What has to be switched off for it to reach its canary: no more, no less. `rootless` is the
  // same for a sandbox that was made without root, whose other namespaces belong to its own user
  // namespace. If it is not said: what stops a user is the same but for the user namespace, which
  // cannot be left out there; what needs root of the host has no control.
  Layers stopped_by;
  Layers rootless;
  // Why this host cannot be attacked so: the kernel is built without it. Asked on the host, as
  // root. Empty: it can.
  std::string (*missing)() = nullptr;
  Outcome (*run)() = nullptr;
};

// Sorted by dossier number, then name.
std::vector<const Attack*> all_attacks();
// What its control on `rootless` leaves out; empty if there is none.
Layers rootless_control(const Attack& attack);
const Attack* find_attack(const std::string& name);

// Numbers of the list that no attack covers yet, with the reason.
struct Uncovered {
  int dossier;
  const char* why;
};
const std::vector<Uncovered>& uncovered();

class Registration final {
 public:
  explicit Registration(const Attack& attack);
};

}  // namespace atl::attack

#define ATTACK(attack_name, ...)                                                           \
  static ::atl::attack::Outcome run_##attack_name();                                       \
  static const ::atl::attack::Attack attack_##attack_name{                                 \
      .name = #attack_name, __VA_ARGS__, .run = &run_##attack_name};                       \
  static const ::atl::attack::Registration registered_##attack_name(attack_##attack_name); \
  static ::atl::attack::Outcome run_##attack_name()
