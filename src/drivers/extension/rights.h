// Rights: what the program behind an extension's socket may do on this host, as the kernel tells.
//
// Nobody here starts an extension, so nobody here can jail it. What can be done is to look: one
// that runs as root is only added when the operator says so, and is told of wherever its driver is.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"
#include "os/socket.h"

namespace atl::extension {

struct Rights {
  uid_t uid = 0;
  bool has_capabilities = false;  // that count on this host: not those of a user namespace's root
  bool no_new_privileges = false;

  bool are_too_many() const { return uid == 0 || has_capabilities; }
};

// "as user 998, without capabilities and without a way to more"
std::string in_words(const Rights& rights);
// What follows from too many, for people; "" if they are not.
std::string warning_of(const Rights& rights);

// Of whoever called listen(), as far as /proc shows it to us. None when that one has gone.
std::optional<Rights> find_rights(const os::PeerCredentials& listener);
// Connects, looks, and says nothing.
Result<Rights> get_rights_at(const std::string& socket);

}  // namespace atl::extension
