// LayerApplier: one layer of an image, laid over those below it in a directory of ours.
//
// The archive is not trusted, and links of the tree are kept as they are, wherever they lead. A
// directory on the way to an entry may be such a link: it is followed as if the tree were the root
// (openat2, RESOLVE_IN_ROOT), as it would be in a sandbox, so that nothing outside is ever touched.
// Everything belongs to us; set-user-id bits, extended attributes and devices do not come along.
// Directories stay passable and files readable for their owner, and a directory that everybody may
// write to gets the sticky bit.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "base/fd.h"
#include "base/tar.h"

namespace atl {

struct TreeLimits {
  uint64_t entries = 1'000'000;         // of all layers together
  uint64_t bytes = uint64_t{32} << 30;  // of all layers together, those too that are covered later
};

// What has been used up of them.
struct TreeCounts {
  uint64_t entries = 0;
  uint64_t bytes = 0;
};

enum class Whiteouts : uint8_t {
  plain_files,  // the archive is a root file system of its own
  hide,         // ".wh.NAME" hides NAME of the layers below, ".wh..wh..opq" all of a directory
};

class LayerApplier final : public TarSink {
 public:
  // `tree` is not owned; `counts` goes on from the layer before.
  LayerApplier(int tree, Whiteouts whiteouts, TreeLimits limits, TreeCounts& counts)
      : tree_(tree), whiteouts_(whiteouts), limits_(limits), counts_(counts) {}

  Result<> begin(const TarEntry& entry) override;
  Result<> bytes(std::string_view bytes) override;
  Result<> end() override;

 private:
  Result<> count(const TarEntry& entry);
  Result<> open_parent(const std::string& path);
  Result<> make_parents(const std::string& path);
  Result<> make(const TarEntry& entry);
  Result<> make_directory();
  Result<> make_file();
  Result<> make_hard_link();
  // Takes away what stands in the way of a new entry.
  Result<> clear_place();
  Result<> hide(const std::string& parent, const std::string& name);
  Result<> hide_below(int directory, const std::string& path, size_t depth);
  bool is_of_this_layer(const std::string& path) const;
  bool has_below(const std::string& path) const;

  int tree_;
  Whiteouts whiteouts_;
  TreeLimits limits_;
  TreeCounts& counts_;
  std::set<std::string> made_;  // by this layer, where hiding needs to know

  TarEntry entry_;
  std::string name_;         // of the entry in its directory
  std::string parent_path_;  // of the directory that is open
  Fd parent_;
  Fd file_;
};

}  // namespace atl
