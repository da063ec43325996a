// What every command of this sandbox is given and denied: built once, applied to each child.
#pragma once

#include <linux/filter.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/files.h"
#include "native/agent_config.h"
#include "native/child/exec_child.h"
#include "native/landlock.h"

namespace atl::agent {

class Jail final {
 public:
  // Takes over the inherited descriptors of native/agent_config.h.
  static Result<Jail> create(native::AgentConfig config);

  const native::AgentConfig& config() const { return config_; }
  const FileRoots& roots() const { return roots_; }
  // The environment of a command: ours, the sandbox's, the request's, each over the one before.
  std::map<std::string, std::string> environment(
      const std::map<std::string, std::string>& request) const;
  // A directory to start in, beneath one of the roots unless nothing is confined.
  Result<Fd> open_directory(const std::string& path) const;
  // Fills in everything that confines.
  void confine(native::ChildPlan& plan) const;
  // False where the command's code could have forged what the agent says about it.
  bool attests() const { return false; }

 private:
  Jail(native::AgentConfig config, std::vector<FileRoot> roots, std::string workspace,
       std::string temporary);

  native::AgentConfig config_;
  FileRoots roots_;
  std::string workspace_;
  std::string home_;
  std::string temporary_;
  std::optional<native::LandlockRules> landlock_;
  std::vector<sock_filter> filter_;
  std::vector<native::ChildLimit> limits_;
  bool drop_capabilities_ = false;
};

}  // namespace atl::agent
