// FileTool over a tool of the agent's: requests become its options, records become events.
#pragma once

#include <memory>

#include "driver/guest.h"
#include "guest/protocol.h"

namespace atl::guest {

Tool to_tool(const ToolRequest& request);

// `path` is where the tool looks, as the client wrote it; the paths that it tells are put below.
std::unique_ptr<FileTool> make_agent_tool(std::unique_ptr<Process> process, std::string path);

}  // namespace atl::guest
