// Checkpoints: the memory of containers, written by podman with CRIU and taken up again by it.
//
// The agent has come to rest before (AgentGuest::rest): whoever is connected to it is outside of
// what can be kept. The container itself goes on as soon as its memory is written. What goes on
// elsewhere is the same container for itself, agent and all, and is told who it is by whoever has
// restored it (AgentGuest::become).
//
// Whether all of this works is not asked but tried: it takes CRIU 4, a runtime that can use it and
// rights that an engine may lack.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "container/container_sandbox.h"
#include "container/container_spec.h"
#include "driver/file_snapshots.h"

namespace atl::container {

using MemoryPieces = std::function<Task<std::string>()>;

class Checkpoints final {
 public:
  explicit Checkpoints(std::shared_ptr<Fleet> fleet) : fleet_(std::move(fleet)) {}

  // The directory for sandboxes must be there. Once, until it has worked; after a failure again
  // when a while has passed. The error is why nothing can be kept. `runtime` is the service's.
  Task<> try_out(std::string runtime);
  const std::optional<Error>& obstacle() const { return obstacle_; }
  // The ids that containers of trials have: nobody's sandboxes.
  const std::set<std::string>& under_way() const { return under_way_; }

  // With everything in it, to `files`. Code::unsupported for what is not kept, Code::conflict for
  // what CRIU cannot keep just now; it goes on in any case.
  Task<SnapshotFacts> save(ContainerSandbox& sandbox, FileSnapshots& files, std::string id);
  // What was saved, as the container of `made`, which is as strong as one that is started.
  Task<std::unique_ptr<Sandbox>> go_on(FileSnapshots& files, std::string snapshot,
                                       ContainerSpec made, std::unique_ptr<AgentWay> way,
                                       FirstWords words);

 private:
  // What podman exports, piece by piece and the empty one at its end. `on_written` is called when
  // the container goes on.
  MemoryPieces keep(std::string container, std::function<void()> on_written);
  // The first process of what was restored.
  Task<pid_t> restore(ContainerSpec made, MemoryPieces pieces);
  Task<> try_once(std::string first, std::string second);
  Result<> check_restored(const ContainerSpec& made, const ContainerState& state) const;

  std::shared_ptr<Fleet> fleet_;
  std::set<std::string> under_way_;
  std::optional<Error> obstacle_ = Error(Code::unsupported, "it was not tried yet");
  std::chrono::steady_clock::time_point try_again_{};
};

// CRIU does not make the root of what it restores read-only. This does, in the mount namespace of a
// process, and fails where a file of that root is open for writing. Needs root.
Result<> make_root_read_only(pid_t process);

}  // namespace atl::container
