// atoll-pool: makes the storage pool for atoll-launcher, or finds it, hands the mount over and
// ends.
//
// Descriptor 0 is the socket for the answer (see launcher/storage_pool.h), 3 the run directory.
#include <signal.h>
#include <sys/prctl.h>

#include <cstdio>

#include "base/bytes.h"
#include "native/pool/pool_image.h"
#include "os/socket.h"

namespace {

using namespace atl;
using namespace atl::native;

constexpr int kAnswer = 0;
constexpr int kRunDirectory = 3;

std::string encode(const Result<OpenedPool>& opened) {
  ByteWriter writer;
  writer.u8(opened ? 0 : static_cast<uint8_t>(static_cast<uint8_t>(opened.error().code()) + 1));
  writer.text(opened ? opened->device : opened.error().message());
  writer.text(opened ? "" : opened.error().hint());
  return std::move(writer).bytes();
}

}  // namespace

int main(int argc, char**) {
  if (argc != 1) {
    std::fprintf(stderr, "atoll-pool %s: started by atoll-launcher only\n", ATOLL_VERSION);
    return 2;
  }
  // Without the one who asked nobody needs an answer.
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  auto opened = open_pool(kRunDirectory);
  if (!opened) opened = std::move(opened).error().with("the storage pool");
  const int mount[] = {opened ? opened->mount.get() : -1};
  const auto sent = os::send_some(kAnswer, encode(opened),
                                  opened ? std::span<const int>(mount) : std::span<const int>());
  return sent ? 0 : 1;
}
