#include "tests/support/root_tree.h"

#include <stdlib.h>

namespace atl::test {
namespace {

// Names of one program may be links to each other, so each is copied under the name that is asked
// for.
constexpr const char* kScript = R"sh(
set -eu
cd "$ROOT_TREE"
mkdir -p bin dev etc lib64 usr/bin usr/lib
for name in sh bash cat chmod cp cut date dd env false find grep head id kill ln ls mkdir mkfifo mv nproc od printf ps \
    pwd readlink rm sed seq setsid sha256sum sleep sort stat stty tail test timeout touch tr true truncate tty uname wc yes; do
  program=$(command -v "/bin/$name" || command -v "/usr/bin/$name")
  cp -L "$program" "bin/$name"
  ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
    mkdir -p ".${library%/*}"
    [ -e ".$library" ] || cp -L "$library" ".$library"
  done
done
ln -sf /bin/sh usr/bin/sh
ln -sf /bin/env usr/bin/env
echo 'root:x:0:0:root:/root:/bin/sh' > etc/passwd
echo 'root:x:0:' > etc/group
)sh";

}  // namespace

Result<> make_root_tree(const std::string& directory) {
  setenv("ROOT_TREE", directory.c_str(), 1);
  const int ended = system(kScript);
  unsetenv("ROOT_TREE");
  if (ended != 0) return Error(Code::internal, "the root tree could not be made");
  return {};
}

}  // namespace atl::test
