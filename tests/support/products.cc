#include "tests/support/products.h"

#include <stdlib.h>
#include <unistd.h>

namespace atl::test {

std::string own_directory() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  const std::string program(path, length < 0 ? 0 : static_cast<size_t>(length));
  return program.substr(0, program.rfind('/'));
}

std::string libexec_directory() {
  if (const char* told = getenv("ATOLL_LIBEXEC"); told != nullptr && *told != '\0') return told;
  std::string directory = own_directory();
  while (!directory.empty()) {
    std::string candidate = directory + "/libexec/atoll";
    if (access((candidate + "/atoll-agent").c_str(), X_OK) == 0) return candidate;
    directory.resize(directory.rfind('/'));
  }
  return "/usr/libexec/atoll";
}

}  // namespace atl::test
