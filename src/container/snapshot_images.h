// SnapshotImages: snapshots of containers as images of their engine.
//
// An image bears our labels (instance and driver, as the container that it is of) and the id of its
// snapshot; nothing else of the engine's is looked at or removed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/task.h"
#include "container/engine_line.h"
#include "json/value.h"

namespace atl::container {

constexpr std::string_view kLabelSnapshot = "atoll.snapshot";

// "localhost/atoll-snapshot:snp…"
std::string snapshot_image(std::string_view id);
// Of the places that a container has in memory, those whose files are kept, as no image holds them:
// not those that are for the moment, /tmp, /run and /var/tmp.
std::vector<std::string> kept_places(std::vector<std::string> in_memory);

class SnapshotImages final {
 public:
  // Both outlive it. `instance` as in kLabelInstance.
  SnapshotImages(EngineLine& line, std::string instance);

  // Its root file system as it is, while its processes stand still; the size of what it adds. The
  // engine is asked for the image afterwards, and one that is not as it should be is removed.
  Task<uint64_t> commit(std::string container, std::string id);
  // Code::not_found when there is no such image of ours.
  Task<> check(std::string id);
  Task<std::vector<std::string>> list();
  // Code::conflict while a container needs it.
  Task<> drop(std::string id);

 private:
  // As the engine tells it, if it is ours.
  Task<json::Value> look(std::string id);
  bool is_ours(const json::Value* labels) const;

  EngineLine& line_;
  std::string instance_;
};

}  // namespace atl::container
