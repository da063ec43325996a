#include "cli/request.h"

#include <fcntl.h>

#include "os/file.h"

namespace atl::cli {
namespace {

std::optional<std::chrono::seconds> to_seconds(std::optional<int64_t> count) {
  if (!count) return std::nullopt;
  return std::chrono::seconds(*count);
}

}  // namespace

Result<CreateRequest> to_create_request(SandboxRequest request) {
  CreateRequest create;
  create.driver = request.driver.value_or("");
  create.profile = request.profile.value_or("");
  create.name = request.name.value_or("");
  create.ttl = to_seconds(request.ttl_s);
  create.idle = to_seconds(request.idle_s);
  create.labels = std::move(request.labels).value_or(std::map<std::string, std::string>());
  create.env = std::move(request.env).value_or(std::map<std::string, std::string>());
  create.resources = request.resources.value_or(Resources());
  create.min_isolation = request.min_isolation;
  if (!request.host_dirs) return create;

  for (HostDir& dir : *request.host_dirs) {
    auto opened = os::open_at(AT_FDCWD, dir.path, O_PATH | O_DIRECTORY);
    if (!opened) return std::move(opened).error().with("the directory for the sandbox");
    HostDirectory directory{.directory = std::move(*opened),
                            .host_path = dir.path,
                            .guest_path = dir.guest_path.value_or(""),
                            .access = dir.access};
    if (dir.workspace.value_or(false)) {
      create.workspace = std::move(directory);
    } else {
      create.mounts.push_back(std::move(directory));
    }
  }
  return create;
}

}  // namespace atl::cli
