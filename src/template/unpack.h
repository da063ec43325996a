// From an archive to a root file system: the whole way, on whatever thread calls it.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/fd.h"
#include "template/image_layout.h"
#include "template/layer_applier.h"

namespace atl {

struct UnpackLimits {
  TreeLimits tree;
  uint64_t archive_bytes = uint64_t{32} << 30;  // uncompressed
};

struct UnpackedTemplate {
  TemplateKind kind = TemplateKind::rootfs;
  ImageConfig config;
  size_t layers = 0;
  uint64_t left_out = 0;  // devices and pipes
};

// Unpacks `archive` into `tree`, an empty directory of ours; `scratch` is another one, for what is
// in between. The archive may be compressed with gzip, and so may an image's layers. `go_on` is
// asked often; its error ends the work. Whatever happens, both directories are the caller's to
// remove.
Result<UnpackedTemplate> unpack_template(int archive, int tree, int scratch, UnpackLimits limits,
                                         const std::function<Result<>()>& go_on);

}  // namespace atl
