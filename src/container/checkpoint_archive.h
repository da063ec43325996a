// CheckpointArchive: what podman exports of a container with its memory, made another container's
// while it passes.
//
// A tar archive with CRIU's images, what has changed in the root file system, and two descriptions
// of the container, config.dump and spec.dump. Podman gives what is imported another id and name,
// and takes all the rest from the descriptions: our labels, the directory that the agent calls
// through, the limits. These become those of the new sandbox here, and all else passes as it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "container/container_spec.h"

namespace atl::container {

class CheckpointArchive final {
 public:
  explicit CheckpointArchive(const ContainerSpec& made) : made_(made) {}

  // What becomes of the next piece, cut anywhere.
  Result<std::string> pass(std::string_view piece);
  // After the last one: Code::internal where no container was described.
  Result<> finish() const;

 private:
  Result<> take_header(std::string& out);
  Result<> take_body(std::string& out);
  Result<> take_description(std::string& out);

  const ContainerSpec made_;
  std::string held_;   // of a header or a body, until it is whole
  uint64_t left_ = 0;  // of what passes, padding included
  // Of what is read whole, a description or an extended header: how many bytes it has, 0 = none is
  // under way, and its header.
  uint64_t body_ = 0;
  std::string header_;
  std::optional<uint64_t> size_ahead_;  // of the next one, said by an extended header
  bool has_config_ = false, has_spec_ = false, is_over_ = false;
};

}  // namespace atl::container
