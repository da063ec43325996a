// A root file system on its way to a daemon.
#pragma once

#include <optional>
#include <string>

#include "client/remote_files.h"

namespace atl::client {

// PUT /v1/templates/{name} with what `source` gives; the answer as it is, once the daemon has
// unpacked all of it. A size that is known lets a file that shrinks meanwhile fail.
Task<std::string> upload_template(Connection& connection, std::string name, Source source,
                                  std::optional<uint64_t> size);  // awaited at once

}  // namespace atl::client
