// Answers that come line by line, each told as soon as it is there.
#pragma once

#include <functional>
#include <string_view>

#include "cli/client.h"

namespace atl::cli {

// Ends when the answer does, or with the first error that `on_line` gives. The request is sent as
// it is and may take as long as it likes. Code::unavailable for a line longer than 64 MiB.
Task<> read_lines(Client& client, net::ClientRequest request,
                  std::function<Result<>(std::string_view line)> on_line);

}  // namespace atl::cli
