// One sandbox as the engine knows it: what was asked, what it is now, and its handle.
#pragma once

#include <memory>

#include <boost/describe/class.hpp>

#include "base/event.h"
#include "core/engine.h"
#include "core/turns.h"
#include "json/describe.h"
#include "store/rows.h"

namespace atl {

struct AskedDirectory {
  std::string host_path;
  std::string guest_path;
  HostAccess access = HostAccess::ro;

  bool operator==(const AskedDirectory&) const = default;
};
BOOST_DESCRIBE_STRUCT(AskedDirectory, (), (host_path, guest_path, access))

// What a create asked for, without values that may be secret: this is what the store keeps of it.
struct Asked {
  static constexpr auto kRequired =
      json::required();  // rows of an older daemon lack what came later

  std::string driver;
  std::string profile;
  std::string user_id;
  std::optional<int64_t> ttl_s;
  std::optional<int64_t> idle_s;
  std::map<std::string, std::string> labels;
  std::vector<std::string> env_names;
  Resources resources;
  std::optional<Isolation> min_isolation;
  std::optional<Placement> placement;
  std::optional<AskedDirectory> workspace;
  std::vector<AskedDirectory> mounts;
  std::optional<AskedDirectory> root;
  std::string template_;  // NAME:TAG that the root is of
  std::string user;
  std::string cwd;
  std::string files;  // their fingerprint

  ExecDefaults defaults() const { return {user, cwd}; }
};
BOOST_DESCRIBE_STRUCT(Asked, (),
                      (driver, profile, user_id, ttl_s, idle_s, labels, env_names, resources,
                       min_isolation, placement, workspace, mounts, root, template_, user, cwd,
                       files))

Asked to_asked(const CreateRequest& request);

// The host directories that the sandbox has copies of. A template's tree is none of the host's: it
// stays as it is.
std::vector<Changes::Copy> copies_of(const Asked& asked);

void fill_in(ExecRequest& request, const ExecDefaults& defaults);

enum class Lifecycle : uint8_t {
  session,
  ephemeral,  // a run: whatever is left of it after a restart is destroyed
};
BOOST_DESCRIBE_ENUM(Lifecycle, session, ephemeral)

// A creation or a destruction under way, for those who ask for the same meanwhile.
struct Joint {
  explicit Joint(const asio::any_io_executor& executor) : done(executor) {}

  void end(const Result<>& result) {
    if (!result) failure = result.error();
    done.fire();
  }

  Event done;
  std::optional<Error> failure;
};

struct SandboxRecord {
  explicit SandboxRecord(const asio::any_io_executor& executor)
      : turns(executor), creation(std::make_shared<Joint>(executor)) {}

  std::string id;
  std::string tenant;
  std::string owner;
  std::string name;
  Asked asked;
  Lifecycle lifecycle = Lifecycle::session;
  State state = State::pending;
  std::string driver;
  Isolation isolation = Isolation::none;
  Placement placement = Placement::host;
  Resources resources;
  // Nullopt when an earlier daemon made the sandbox: the values are with the driver then.
  std::optional<std::map<std::string, std::string>> env;
  WallTime created_at{};
  std::optional<WallTime> expires_at;
  Micros expires_boot{0};  // zero = never
  std::chrono::seconds ttl{0};
  std::optional<std::chrono::seconds> idle;
  WallTime last_active_at{};
  Micros last_active_boot{0};
  std::optional<WallTime> ended_at;
  std::string failure;
  int64_t generation = 0;
  std::vector<Stage> stages;

  // Shared with leases, so that a call under way keeps its memory. Null until the driver has made
  // or attached it.
  std::shared_ptr<Sandbox> handle;
  size_t leases = 0;
  Turns turns;
  std::shared_ptr<Joint> creation;
  std::shared_ptr<Joint> destruction;  // null while nobody destroys it
  int64_t run_intent = 0;              // of a run, settled when the run is over
  // A destruction that the driver could not do yet; the sweeper tries again.
  bool is_doomed = false;
  // What an earlier daemon was doing when it died, until it is finished or undone.
  std::optional<store::IntentRow> interrupted;
  bool awaits_driver = false;  // to be attached as soon as its driver answers
  Micros reaper_looks_at{0};   // the reaper's own mark

  // When the reaper has to end it, on Clock::boot(); nullopt while nothing runs out.
  std::optional<Micros> deadline() const;
  SandboxView view() const;
};

using RecordPtr = std::shared_ptr<SandboxRecord>;

inline bool sees(const Caller& caller, const SandboxRecord& record) {
  return sees(caller, record.tenant, record.owner, record.id);
}

store::SandboxRow to_row(const SandboxRecord& record, const std::string& boot_id);
// A row that makes no sense is Code::internal, naming the sandbox.
Result<RecordPtr> from_row(const asio::any_io_executor& executor, const store::SandboxRow& row);

// In what the two differ, in words of the API: "driver, env"; "" when in nothing. Values of the
// environment are compared where both are known.
std::string differences(const SandboxRecord& record, const CreateRequest& request);

}  // namespace atl
