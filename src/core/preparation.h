// What is done to a sandbox between its making and its first use: files are laid down, and, for a
// run, a command goes before the command.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "driver/capabilities.h"
#include "driver/new_file.h"

namespace atl {

inline constexpr size_t kMostInitialFiles = 1'000;

// Code::invalid_argument, with the path in it.
Result<> check_files(const std::vector<NewFile>& files);

// "" without files; otherwise the same for the same files, and tells nothing of them.
std::string fingerprint(const std::vector<NewFile>& files);

// Directories on the way are made. Errors name the file.
Task<> write_files(Guest& guest, std::vector<NewFile> files);  // awaited at once

// Without its success the run's own command is not tried.
struct SetupCommand {
  std::string name;  // of what asked for it: "requirements"
  ExecRequest exec;  // its timeout is not zero
  // What it is told as well where the guest has no network, so that it does not try in vain.
  std::map<std::string, std::string> env_offline;
};

// What it said last; when the command fails the error has that.
Task<std::string> run_setup(Guest& guest, SetupCommand setup,  // awaited at once
                            NetworkControl network);

// The end of what a command said, on one line and without what a terminal would obey.
std::string last_words(const ExecResult& result);

}  // namespace atl
