// The daemon's part of cgroup.h: it plans with what the launcher has told it.
#include "native/cgroup.h"

namespace atl::native {

CgroupSlice CgroupSlice::as_told(CgroupVersion version, uint8_t roles) {
  CgroupSlice slice;
  slice.version_ = version;
  slice.roles_ = roles;
  return slice;
}

}  // namespace atl::native
