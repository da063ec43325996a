// Who the users of a root file system are, by its own etc/passwd: what an image names as its USER
// is a number to whoever runs it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace atl {

using RootUsers = std::map<std::string, int64_t>;  // numbers by name

constexpr size_t kMostRootUsers = 256;

// The file is foreign: no link leads out of the tree, lines that make no sense are passed over, and
// beyond kMostRootUsers names nobody is known. Of two lines for one name the first holds. Empty
// where it cannot be read.
RootUsers read_root_users(int tree);
// The same from its text.
RootUsers parse_root_users(std::string_view passwd);

}  // namespace atl
