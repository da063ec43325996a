// A file that is given whole, and how it gets into a sandbox.
#pragma once

#include <cstdint>
#include <string>

#include "driver/guest.h"

namespace atl {

struct NewFile {
  std::string path;  // relative to the workspace, or absolute in the sandbox
  std::string bytes;
  uint32_t mode = 0644;
};

// All of it is there, or nothing.
Task<FileInfo> write_file(Guest& guest, NewFile file, Parents parents);  // awaited at once

}  // namespace atl
