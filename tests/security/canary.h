// What the host has put out for the attacks, and the small tools that they share.
//
// The host tells by environment variables, ATOLL_ATTACK_*:
//
//   TOKEN                     a random word; every secret is "canary:" and the token
//   IN_BOX                    1: this really is a sandbox, so that attacks on the box itself may
//   run SECRET, SECRET_ROOT       files outside: readable by all; 0600 of root SECRET_HANDLE
//   type:hex, as name_to_handle_at gave it for SECRET_ROOT SHARED                    a directory of
//   the host in the sandbox (same path): setuid/ setcap/ device OUTSIDE                   a
//   directory of the host that is not in the sandbox, 0777 VICTIM_…                  see victim.h
//   KERNEL, LAUNCHER_PID, NEIGHBOUR_PID, NEIGHBOUR_FILE, PTY, HOSTNAME, RELEASE_HELPER, PHASE,
//   LIMIT_…
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace atl::attack {

// Empty if the host did not say.
std::string told(const char* name);
// 0 if the host did not say.
long told_number(const char* name, long otherwise = 0);
bool in_box();
// Whether another kernel than the host's answers: KERNEL is how the host's /proc/version begins.
bool has_own_kernel();
// Whether mounts here are not the host's, as far as we can tell: what would take the host's own
// mounts away asks first.
bool has_own_mounts();
// "canary:TOKEN"
std::string canary();

// Up to 64 KiB; nullopt and errno.
std::optional<std::string> read_all(const std::string& path);
std::optional<std::string> read_all(int descriptor);
bool write_all(const std::string& path, const std::string& text);
// Opens and closes, and writes nothing.
bool can_open(const std::string& path, int flags);

// A directory in which this user may write: the working directory or /tmp. Made once, empty if
// none.
std::string scratch();

// The bits of CapEff.
uint64_t effective_capabilities();

// Runs in a child, so that a filter that kills, kills that. The child's answer is 0 (it worked) or
// an errno; killed is told as ENOSYS + 1000 + the signal.
int in_child(const std::function<int()>& attempt);
std::string describe_child(int answer);

// Says that it holds what it took, and waits until the host has looked: until stdin ends. Meanwhile
// it takes `more`, again and again.
void hold(const std::string& what, const std::function<void()>& more = {});

// Why an attack cannot be made on this host; empty if it can. For Attack::missing.
std::string missing_file(const char* path);
std::string missing_socket(int family, int type, int protocol, const char* name);

}  // namespace atl::attack
