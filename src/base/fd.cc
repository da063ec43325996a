#include "base/fd.h"

#include <fcntl.h>
#include <unistd.h>

namespace atl {

void Fd::close() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

Result<Fd> Fd::duplicate() const {
  Fd copy(::fcntl(number_, F_DUPFD_CLOEXEC, 3));
  if (!copy) return os_error("duplicating a descriptor");
  return copy;
}

void Fd::move_up(int lowest) {
  if (number_ < 0 || number_ >= lowest) return;
  if (Fd above(::fcntl(number_, F_DUPFD_CLOEXEC, lowest)); above) *this = std::move(above);
}

}  // namespace atl
