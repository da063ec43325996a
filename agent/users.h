// Who a command runs as.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace atl::agent {

struct User {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::string name;
  std::string home;
  std::string listed_home;  // where the file says that it is, if `home` is another; "" = it is not
};

// By name or number, from the sandbox's own /etc/passwd in `root`; "" is the sandbox's default
// user. A number that is not listed is taken as it is, with the same group.
Result<User> find_user(int root, const std::string& asked);
// Where everybody is the one that we are ourselves: their name and, if they can write to it, their
// home from that file. Whoever else is asked for is Code::unsupported.
Result<User> find_only_user(int root, const std::string& asked);
// A search path whose places below `listed` are looked for below `home` first: what is installed
// for a user is in the home that they have, and the image's path names the one that they cannot
// write to.
std::string with_moved_home(std::string_view path, std::string_view listed, std::string_view home);
// Why nobody runs as `asked` where everybody is `only`.
Error no_other_user(const std::string& asked, uint32_t only);
// As that file lists them; none if it cannot be read.
std::vector<User> listed_users(int root);

}  // namespace atl::agent
