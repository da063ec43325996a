// ImageLayout: which layers an archive's root file system is made of, lowest first.
//
// Knows what `docker save` writes, OCI layouts, and plain root file systems. Every blob that an
// image names by its digest is checked against it: here the small ones, by whoever reads them the
// layers.
#pragma once

#include <string>
#include <vector>

#include <boost/describe/enum.hpp>

#include "template/archive_index.h"
#include "template/image_config.h"

namespace atl {

enum class TemplateKind : uint8_t { docker, oci, rootfs };
BOOST_DESCRIBE_ENUM(TemplateKind, docker, oci, rootfs)

struct ImageLayer {
  ArchivePart part;
  std::string digest;   // SHA-256 of the part as it is, in hex; "" = the archive does not say
  std::string diff_id;  // the same of what is in it, uncompressed
};

struct ImageLayout {
  TemplateKind kind = TemplateKind::rootfs;
  std::vector<ImageLayer> layers;
  ImageConfig config;
};

// Of an OCI layout with images for several architectures, the one for x86-64.
Result<ImageLayout> find_image_layout(const ArchiveIndex& index);

}  // namespace atl
