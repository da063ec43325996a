// Network namespaces that the next sandbox can have as if they were new.
//
// Making one and clearing it away takes the kernel a millisecond of processor, and most sandboxes
// send nothing. What a process without rights over the namespace (no sandbox has any) can leave in
// it are packets that were counted, sockets, cached routes and flow labels. So when a sandbox has
// ended, everything that the kernel tells of these is read and compared with what it told of a new
// one. One difference, or one file that cannot be read, and the namespace is closed. So is the
// first.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"

namespace atl::native {

class CleanNetworks final {
 public:
  CleanNetworks();

  // Where new ones are made from; -1 = they cannot be kept here.
  int home() const { return home_.get(); }
  bool is_empty() const { return clean_.empty(); }
  // Empty if there is none.
  Fd take();
  // What a sandbox had, after the end of its last process.
  void give_back(Fd network);

 private:
  std::string look_at(const Fd& network) const;

  Fd home_;
  Fd told_;
  std::string like_new_;
  std::vector<Fd> clean_;
  bool was_given_back_ = false;
};

}  // namespace atl::native
