// Where the programs under test are.
#pragma once

#include <string>

namespace atl::test {

// The directory of atoll-launcher and atoll-agent: ATOLL_LIBEXEC, which ctest sets, or the build
// tree that this test program lies in.
std::string libexec_directory();

// The directory of the running test program, where other programs of its suite are.
std::string own_directory();

}  // namespace atl::test
