// The launcher as a service of the host (deploy/systemd/atoll-launcher.service): systemd listens
// for it, starts it when somebody connects, and has made its run directory.
//
// Whom the socket's file belongs to (SocketUser=) is whom the launcher serves.
#pragma once

#include "base/fd.h"
#include "base/result.h"
#include "native/launcher/agent_process.h"

namespace atl::native {

struct ServiceParts {
  Fd listener;
  Fd run_directory;
  Identity identity;
};

// By LISTEN_PID, LISTEN_FDS and STATE_DIRECTORY, as systemd sets them.
Result<ServiceParts> take_service_parts();

// Becomes the program that `argv` names, which may be a newer one by now. Returns only to say why
// it could not.
Error replace_service(const Fd& listener, char** argv);

}  // namespace atl::native
