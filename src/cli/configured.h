// What configuration files and variables say, as the flags of a verb.
//
// Whatever stands in a file reaches a verb only as a flag that nobody typed (Args::configure), so
// that flags win, and a value is checked in one place wherever it comes from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/args.h"
#include "cli/verb.h"
#include "config/effective.h"
#include "config/search.h"

namespace atl::cli {

// Who asks decides which files are looked for.
enum class Asking : uint8_t {
  for_sandbox,  // the project's, the user's, the system's
  for_daemon,   // the user's and the system's: what rules a daemon does not lie in a project
};

struct Configuration {
  std::vector<config::Layer> layers;  // strongest first
  config::Effective effective;
};

// Reads and merges. Problems inside of files are in their findings, and are no errors here.
Result<Configuration> read_configuration(const Args& args, Asking asking);

// Gives `args` what is configured for the verb. Code::invalid_argument when a file has errors,
// Code::permission_denied for what a file may not say.
Result<> configure(const Verb& verb, Args& args, Program& program);

// The first error among findings as an error; fine if there is none.
Result<> to_result(std::span<const config::Finding> findings);

}  // namespace atl::cli
