#include "base/refusal.h"

#include "base/error.h"

namespace atl {

Error Error::with_refusal(std::shared_ptr<const Refusal> refusal) && {
  refusal_ = std::move(refusal);
  return std::move(*this);
}

}  // namespace atl
