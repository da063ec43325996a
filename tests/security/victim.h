// The victim: a process on the host, uid 1000, that holds what attacks are after and notes who
// came.
//
// It prints one JSON line, in which every name is an ATOLL_ATTACK_VICTIM_… variable for the
// attacks: PID, ADDRESS (of the canary in its memory), FD (open on a file with the canary), TCP,
// UDP (ports on 127.0.0.1), ABSTRACT (a Unix socket's name), SOCKET (a Unix socket's path, in
// OUTSIDE), SHM_KEY, QUEUE (a POSIX message queue), SHM_FILE (in /dev/shm), KEY (in its user
// keyring). When its stdin ends it prints a second line, how often each was touched, removes all
// and leaves.
#pragma once

namespace atl::attack {

int be_victim();

}  // namespace atl::attack
