// SnapshotImages: snapshots of containers as images of their engine.
//
// An image bears our labels, as the container that it is of, and the id of its snapshot; nothing
// else of the engine's is looked at or removed.
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
  // The line outlives it. `instance` as in kLabelInstance; what bears `former` (unless "") is as
  // good where somebody knows its id, and may be another daemon's otherwise.
  SnapshotImages(EngineLine& line, std::string instance, std::string former = "");

  // The sandbox's root file system as it is, while its processes stand still; the size of what it
  // adds. The engine is asked for the image afterwards, and one that is not as it should be is
  // removed.
  Task<uint64_t> commit(std::string sandbox, std::string id);
  // Code::not_found when there is no such image of ours.
  Task<> check(std::string id);
  // Both kinds, and those alone that bear the former.
  Task<std::vector<std::string>> list();
  Task<std::vector<std::string>> list_formers();
  // Code::conflict while a container needs it.
  Task<> drop(std::string id);

 private:
  // As the engine tells it, if it is ours.
  Task<json::Value> look(std::string id);
  bool is_ours(const json::Value* labels) const;
  bool is_formers(const json::Value* labels) const;
  Task<json::Array> rows();

  EngineLine& line_;
  std::string instance_, former_;
};

}  // namespace atl::container
