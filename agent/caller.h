// An agent that nobody has handed descriptors to: a container engine has started it, and it calls
// whoever made its sandbox.
//
// The socket to call lies in a directory that the sandbox can only read. It is there while somebody
// waits for a call; in between there is nothing to connect to. The first byte says whether the
// agent is new and needs its configuration; see container/agent_door.h for the other side.
#pragma once

#include <map>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace atl::agent {

// Calls until somebody answers, and puts what the launcher would have given in its place
// (native/agent_places.h): the connection, the configuration and the facts. Code::permission_denied
// when the engine has given this process more rights than it may have.
Result<> call_first(const std::string& socket);

// Once, without waiting: the connection, or why there is none.
Result<Fd> call_again(const std::string& socket);

// What the image sets for its commands. The engine has put it into our own environment.
std::map<std::string, std::string> image_environment();

}  // namespace atl::agent
