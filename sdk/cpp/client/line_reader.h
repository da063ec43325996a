// Answers that come line by line, each told as soon as it is there.
#pragma once

#include <functional>
#include <string_view>

#include "client/connection.h"

namespace atl::client {

// Ends when the answer does, or with the first error that `on_line` gives. The request may take as
// long as it likes, but for its `silence`. Code::unavailable for a line longer than 64 MiB.
Task<> read_lines(Connection& connection, net::ClientRequest request,
                  std::function<Result<>(std::string_view line)> on_line);

}  // namespace atl::client
