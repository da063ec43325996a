// The files that a sandbox with a second kernel can have written, as who stands around it sees
// them, in the box.
//
// They are packed and unpacked while nothing of the sandbox runs, with their owners: one archive
// for each place, in a directory that a driver has given. Pipes and sockets are the second kernel's
// own and in its memory.
//
// What a process has mapped of the host's programs and libraries is not in the image: it is read
// from them again. So the image notes what they are, and is refused by a host that has others.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "native/box_facts.h"

namespace atl::native {

// Code::unsupported for one with a root or with directories of its caller's, which are not its own.
Result<> check_can_be_kept(const BoxFacts& facts);

// Gives the number of files that were left out.
Result<uint64_t> pack_box_files(int directory);
// Code::conflict when the host's programs are others than those that the image was made with.
Result<> unpack_box_files(int directory);

// Code::conflict when somebody in the sandbox has a file open that has no name any more: the second
// kernel cannot keep such files, and would end with the trial. Asked while it stands still.
Result<> check_open_files();

}  // namespace atl::native
