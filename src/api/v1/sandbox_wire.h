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
namespace atl::policy {
class Profiles;
}

namespace atl::api::v1 {

struct WireHostDir {
  static constexpr std::string_view kSchema = "HostDir";
  static constexpr auto kRequired = json::required("path");
  std::string path;
  std::optional<std::string> guest_path;  // absent: where it is on the host
  HostAccess access = HostAccess::ro;
  std::optional<bool> workspace;  // it is the workspace itself
};
BOOST_DESCRIBE_STRUCT(WireHostDir, (), (path, guest_path, access, workspace))

struct WireCreate {
  static constexpr std::string_view kSchema = "CreateSandbox";
  std::optional<std::string> driver;
  std::optional<std::string> run_mode;
  std::optional<policy::Strategy> strategy;
  std::optional<std::string> profile;
  std::optional<std::string> name;
  std::optional<std::string> user_id;
  std::optional<int64_t> ttl_s;
  std::optional<int64_t> idle_s;
  std::optional<OnEnd> on_expire;
  std::optional<OnEnd> on_idle;
  std::optional<int64_t> keep_s;
  std::optional<OnFailure> on_failure;
  std::optional<std::map<std::string, std::string>> labels;
  std::optional<std::map<std::string, std::string>> env;
  std::optional<Resources> resources;
  std::optional<Isolation> min_isolation;
  std::optional<Isolation> isolation_level;  // an alias of min_isolation
  std::optional<Placement> placement;
  std::optional<std::map<std::string, std::string>> driver_labels;
  std::optional<std::vector<WireHostDir>> host_dirs;
  std::optional<std::string> rootfs;     // a directory of the host; given like host_dirs
  std::optional<std::string> template_;  // NAME[:TAG]
  std::optional<std::string> image;
  std::optional<Pull> pull;
  std::optional<std::string> runtime;
  std::optional<Persistence> persistence;
  std::optional<SnapshotKind> checkpoint;  // of persistence: checkpoint
  std::optional<Life> lifecycle;
  std::optional<Network> network;
  std::optional<std::string> snapshot;  // id or name
  std::optional<std::string> warm;      // python3 or node: one waits for the first command
  std::optional<std::string> user;      // of commands that name none
  std::optional<std::string> cwd;
  std::optional<int64_t> queue_timeout_ms;
  // Files that it has from the beginning, by path: text, and bytes in base64.
  std::optional<std::map<std::string, std::string>> files;
  std::optional<std::map<std::string, std::string>> files_b64;
};
BOOST_DESCRIBE_STRUCT(WireCreate, (),
                      (driver, run_mode, strategy, profile, name, user_id, ttl_s, idle_s, on_expire,
                       on_idle, keep_s, on_failure, labels, env, resources, min_isolation,
                       isolation_level, placement, driver_labels, host_dirs, rootfs, template_,
                       image, pull, runtime, persistence, checkpoint, lifecycle, network, snapshot,
                       warm, user, cwd, queue_timeout_ms, files, files_b64))

// Of a request that has files in it.
inline constexpr size_t kMostCreateJson = size_t{32} << 20;

// Opens the host's directories; from a remote seat those are refused. Without `templates`, as where
// no daemon is, so is a template.
// A profile's template is opened with the request's own words; the rest of it the engine works in.
Result<CreateRequest> to_request(WireCreate wire, Seat seat, Templates* templates = nullptr,
                                 const policy::Profiles* profiles = nullptr);

// The template's tree becomes the root. What its image says holds where the request says nothing.
Result<> open_template(CreateRequest& request, const std::string& name, Templates* templates);

// The same of the version with this id.
Result<> reopen_template(CreateRequest& request, const std::string& id, Templates& templates);

// A sandbox that is made from a snapshot has the template of the one that it is of, if that is
// there (snapshots.cc).
void add_snapshots_template(WireCreate& wire, Engine& engine, const Caller& caller,
                            const Templates* templates);

// Adds to what is there.
Result<> add_files(std::vector<NewFile>& files,
                   std::optional<std::map<std::string, std::string>> text,
                   std::optional<std::map<std::string, std::string>> b64);

// Of what is asked, not of how it is written, nor of how long one waits for it: for idempotency
// keys.
std::string hash_of(WireCreate wire);

void append_sandbox(std::string& out, const SandboxView& view);
void append_start(std::string& out, const StartRecord& record);
void append_explanation(std::string& out, const Explanation& explanation);

}  // namespace atl::api::v1
