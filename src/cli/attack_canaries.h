// AttackCanaries: what the attacks of `atoll doctor --attack` are after, put out on this host.
//
// A directory of its own with secrets in it, a terminal, and a process that holds a secret in its
// memory (`atoll-attack --victim`). The attacks are told by environment variables, ATOLL_ATTACK_….
// Nothing of it is worth anything, and all of it is gone with the object.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace atl::cli {

class AttackCanaries final {
 public:
  static Result<std::unique_ptr<AttackCanaries>> create(const std::string& program);
  ~AttackCanaries();

  // A directory of this host for the sandbox to see, read-only and under the same path.
  std::string shared() const { return directory_ + "/shared"; }
  std::string program() const { return shared() + "/atoll-attack"; }
  std::map<std::string, std::string> environment() const;

  // What this host sees of the last attack, "" if nothing: even one that says that it was denied
  // may have done something. What was killed or written is put out anew.
  Result<std::string> take_evidence();

  // Container engines show a sandbox only what lies below directories that the operator names; the
  // engine of this process serves nobody but us, and may show what is put out. Before it is made.
  static void let_engines_show();

  // Whether the canary of this attack could be put out: some need root.
  static bool has_canary(const std::string& attack);

 private:
  AttackCanaries() = default;
  Result<> make_files(const std::string& program);
  Result<> open_terminal();
  Result<> start_victim();
  void end_victim();
  void remove_leftovers() const;
  bool is_victim_alive();

  std::string directory_;
  std::string token_;
  key_t left_key_ = 0;  // of shared memory that an attack may leave
  Fd terminal_, terminal_end_;
  std::string terminal_name_;
  pid_t victim_ = -1;
  Fd victim_stdin_;
  std::map<std::string, std::string> victim_facts_;
};

// Runs a program of ours and gives what it wrote to stdout; Code::internal if it fails.
Result<std::string> read_output(const std::string& program, const char* argument);

}  // namespace atl::cli
