// What a command line asks for, in the form that the API takes; an engine of our own takes the same, converted.
#pragma once

#include <boost/describe/class.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/engine.h"
#include "driver/capabilities.h"
#include "driver/spec.h"

namespace atl::cli {

// A directory of this host that the sandbox shall see.
struct HostDir {
  std::string path;  // absolute
  std::optional<std::string> guest_path;
  HostAccess access = HostAccess::ro;
  std::optional<bool> workspace;
};
BOOST_DESCRIBE_STRUCT(HostDir, (), (path, guest_path, access, workspace))

struct SandboxRequest {
  std::optional<std::string> driver;
  std::optional<std::string> profile;
  std::optional<std::string> name;
  std::optional<int64_t> ttl_s;
  std::optional<int64_t> idle_s;
  std::optional<std::map<std::string, std::string>> labels;
  std::optional<std::map<std::string, std::string>> env;
  std::optional<Resources> resources;
  std::optional<Isolation> min_isolation;
  std::optional<std::vector<HostDir>> host_dirs;
};
BOOST_DESCRIBE_STRUCT(SandboxRequest, (),
                      (driver, profile, name, ttl_s, idle_s, labels, env, resources, min_isolation,
                       host_dirs))

// Opens the host directories with the rights of whoever runs this.
Result<CreateRequest> to_create_request(SandboxRequest request);

}  // namespace atl::cli
