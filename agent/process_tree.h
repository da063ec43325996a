// Finding and ending everything that a command has started.
//
// The agent is a subreaper: a process whose parent dies becomes the agent's child, so nothing below
// it is ever lost from sight, only mixed up. Which exec an orphan belongs to is told by its session
// or by the mark in its environment; a process that shed both is found when the whole sandbox ends.
// Without a cgroup this is best effort: code under the same uid can kill the agent first.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>

#include "os/process.h"

namespace atl::agent {

// "ATOLL_EXEC=<sandbox>.<number>": put into the environment of every command.
constexpr const char* kExecMark = "ATOLL_EXEC";

// To exactly this process, and not to a later one with the same pid. Where no pidfd is to be had,
// in gVisor or behind an old filter of an engine's, it is looked at just before.
void signal_process(const os::ProcessStat& process, int signal);

// Sends the signal to the command `root` (its pid was also its session) and all that it started.
// SIGKILL first stops what it finds and looks again, so that nobody forks away meanwhile.
void signal_tree(pid_t root, const std::string& mark, int signal);

// Every living process below this one.
std::set<pid_t> descendants();

// Kills everything below this process, again and again until nothing is left to kill or `rounds`
// are over.
void kill_descendants(int rounds);

}  // namespace atl::agent
