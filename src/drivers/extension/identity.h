// Identity: by what a daemon knows its sandboxes with an extension, and they know it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace atl::extension {

struct Identity {
  std::string instance;  // told to the extension, which tells it with each sandbox
  std::string secret;    // told to nobody

  // What whoever comes again to the agent of this sandbox shows it; see agent/answerer.h.
  std::string token_for(std::string_view sandbox) const;
};

// Made at random when there is none, and kept in `path`, whose directory is ours.
Result<Identity> get_identity(const std::string& path);

}  // namespace atl::extension
