// What every command of this sandbox is given and denied: built once, applied to each child.
#pragma once

#include <linux/filter.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/diff.h"
#include "agent/exec_groups.h"
#include "agent/files.h"
#include "agent/users.h"
#include "guest/protocol.h"
#include "native/agent_config.h"
#include "native/box_facts.h"
#include "native/child/exec_child.h"
#include "native/landlock.h"

namespace atl::agent {

class Jail final {
 public:
  // Takes over the inherited descriptors of native/agent_config.h and, in a box, of box_facts.h.
  static Result<Jail> create(native::AgentConfig config, native::BoxFacts facts);

  const native::AgentConfig& config() const { return config_; }
  const native::BoxFacts& facts() const { return facts_; }
  bool is_box() const { return facts_.boxed; }
  // In a second kernel, see gate.h.
  bool is_behind_gate() const { return !facts_.outer_kernel.empty(); }
  const FileRoots& roots() const { return roots_; }
  const std::vector<CopiedDirectory>& copies() const { return copies_; }
  const std::string& workspace() const { return workspace_; }
  // Whom a command runs as; only a box has more than one.
  Result<User> find_user(const std::string& asked) const;
  // The environment of a command: ours, the sandbox's, the request's, each over the one before.
  std::map<std::string, std::string> environment(
      const User& user, const std::map<std::string, std::string>& request) const;
  // Where its terminals are; empty = in our own root.
  const Fd& terminals() const { return terminals_; }
  // Where a command starts that names no directory.
  int start_directory() const { return start_directory_; }
  // A directory to start in, beneath one of the roots unless nothing is confined.
  Result<Fd> open_directory(const std::string& path) const;
  // Fills in everything that confines.
  void confine(native::ChildPlan& plan, const User& user) const;
  // A parked sandbox is somebody's from now on; once.
  Result<> hand_over(guest::HandOver message);
  // A sandbox that was kept goes on as this one: other names, environment and limits for the
  // commands to come.
  void take_up(native::AgentConfig config, native::BoxFacts facts);
  void renew(Micros expires_at) { config_.expires_at = expires_at; }
  ExecGroups take_groups();
  // The files of /proc that the agent writes; empty when there are none.
  Fd take_proc_files();
  // False where the command's code could have forged what the agent says about it.
  bool attests() const { return is_box() && !facts_.rootless; }

 private:
  Jail(native::AgentConfig config, native::BoxFacts facts, FileRoots roots, std::string workspace,
       std::string temporary);
  static Result<Jail> create_plain(native::AgentConfig config, native::BoxFacts facts);
  static Result<Jail> create_tree(native::AgentConfig config, native::BoxFacts facts);
  static Result<Jail> create_box(native::AgentConfig config, native::BoxFacts facts);
  // What holds for each command of a sandbox without namespaces.
  void confine_processes();
  void limit_memory();
  // Or what we have ourselves, if that is less: nobody can give more.
  void add_limit(int resource, rlim_t value);

  native::AgentConfig config_;
  native::BoxFacts facts_;
  FileRoots roots_;
  Fd root_;
  Fd terminals_;
  Fd start_;
  int start_directory_ = -1;
  std::vector<ExecGroups::Work> work_;
  Fd proc_files_;
  std::vector<CopiedDirectory> copies_;
  std::string workspace_;
  std::string home_;
  std::string temporary_;
  std::optional<native::LandlockRules> landlock_;
  std::vector<sock_filter> filter_;
  std::vector<native::ChildLimit> limits_;
  bool drop_capabilities_ = false;
};

}  // namespace atl::agent
