// Starting the program of a command: from what was asked to a child that runs it.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>

#include "agent/exec_groups.h"
#include "agent/jail.h"
#include "guest/protocol.h"

namespace atl::agent {

struct Spawned {
  pid_t pid = 0;  // zero when the program cannot be executed; then the rest says what a shell would
  int exit_code = 0;
  std::string message;
  std::optional<ExecGroup> group;  // where the sandbox has cgroups
};

// Refuses what no program could be given.
Result<> check(const guest::Exec& request);

// Where a command runs and what it is connected to.
struct SpawnPlace {
  const ExecGroup* group = nullptr;  // that it joins; nullptr = one of its own
  std::string mark;                  // the variable by which its descendants are known
  int directory = -1;                // -1 = the request's
  std::string program;               // instead of the request's; its argv stays
  int stdio[3] = {-1, -1, -1};
  bool has_terminal = false;  // they are its controlling terminal
  int more[2] = {-1, -1};     // its descriptors 3 and 4, if it has any
};

// Who runs a command, where, and with which variables.
struct Setting {
  User user;
  std::map<std::string, std::string> environment;
  int directory = -1;
  Fd opened;  // what `directory` is, unless it was there before
};
Result<Setting> find_setting(const Jail& jail, const SpawnPlace& place, const guest::Exec& request);

// A program that is missing or no program is no error; everything else that fails is.
Result<Spawned> spawn(const Jail& jail, ExecGroups& groups, const SpawnPlace& place,
                      const guest::Exec& request);

}  // namespace atl::agent
