// Sandboxes as JSON: what a client asks for, and what it is told.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/visitor.h"
#include "core/engine.h"
#include "json/describe.h"

namespace atl {
class Templates;
}

namespace atl::api::v1 {

struct WireHostDir {
  static constexpr std::string_view kSchema = "HostDir";
  std::string path;
  std::optional<std::string> guest_path;  // absent: where it is on the host
  HostAccess access = HostAccess::ro;
  std::optional<bool> workspace;  // it is the workspace itself
};
BOOST_DESCRIBE_STRUCT(WireHostDir, (), (path, guest_path, access, workspace))

struct WireCreate {
  static constexpr std::string_view kSchema = "CreateSandbox";
  std::optional<std::string> driver;
  std::optional<std::string> profile;
  std::optional<std::string> name;
  std::optional<std::string> user_id;
  std::optional<int64_t> ttl_s;
  std::optional<int64_t> idle_s;
  std::optional<std::map<std::string, std::string>> labels;
  std::optional<std::map<std::string, std::string>> env;
  std::optional<Resources> resources;
  std::optional<Isolation> min_isolation;
  std::optional<Isolation> isolation_level;  // an alias of min_isolation
  std::optional<Placement> placement;
  std::optional<std::vector<WireHostDir>> host_dirs;
  std::optional<std::string> rootfs;     // a directory of the host; given like host_dirs
  std::optional<std::string> template_;  // NAME[:TAG]
  std::optional<std::string> warm;       // python3 or node: one waits for the first command
  std::optional<std::string> user;       // of commands that name none
  std::optional<std::string> cwd;
  // Files that it has from the beginning, by path: text, and bytes in base64.
  std::optional<std::map<std::string, std::string>> files;
  std::optional<std::map<std::string, std::string>> files_b64;
};
BOOST_DESCRIBE_STRUCT(WireCreate, (),
                      (driver, profile, name, user_id, ttl_s, idle_s, labels, env, resources,
                       min_isolation, isolation_level, placement, host_dirs, rootfs, template_,
                       warm, user, cwd, files, files_b64))

// Of a request that has files in it.
inline constexpr size_t kMostCreateJson = size_t{32} << 20;

// Opens the host's directories; from a remote seat those are refused. Without `templates`, as where
// no daemon is, so is a template.
Result<CreateRequest> to_request(WireCreate wire, Seat seat, Templates* templates = nullptr);

// Adds to what is there.
Result<> add_files(std::vector<NewFile>& files,
                   std::optional<std::map<std::string, std::string>> text,
                   std::optional<std::map<std::string, std::string>> b64);

// Of what is asked, not of how it is written: for idempotency keys.
std::string hash_of(const WireCreate& wire);

void append_sandbox(std::string& out, const SandboxView& view);
void append_explanation(std::string& out, const Explanation& explanation);

}  // namespace atl::api::v1
