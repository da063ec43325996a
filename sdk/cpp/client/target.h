// Which daemon is meant: one by URL, that of a state directory, or none.
//
//   what is asked for   wins over the environment;
//   ATOLL_URL           http://host:port, https://host, unix:/path/to/atoll.sock;
//   ATOLL_STATE         the state directory whose daemon is meant; otherwise the user's own
//   (default_state_directory()).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace atl::client {

// In a state directory.
constexpr std::string_view kSocketName = "atoll.sock";
constexpr std::string_view kKeyFileName = "admin.key";

// How a value of the environment is found; a parameter, so that tests can have one of their own.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;
std::optional<std::string> find_variable(std::string_view name);

// $HOME, or what the password database says about us.
Result<std::string> home_directory(const Environment& environment);
// /var/lib/atoll for root, $XDG_STATE_HOME/atoll or ~/.local/state/atoll for others.
Result<std::string> default_state_directory(const Environment& environment);

// What the caller was told. Within one rank a URL wins over a state directory.
struct TargetWish {
  std::optional<std::string> url;
  std::optional<std::string> state_directory;
  std::optional<std::string> key;
};

// What was asked for, ATOLL_STATE, or the default.
Result<std::string> state_directory_from(const TargetWish& wish, const Environment& environment);

struct Target {
  std::string url;
  std::string key;  // "" = none, which the daemon's own Unix socket does not ask for
};

struct TargetSearch {
  std::optional<Target> found;
  std::string socket;  // where nobody answered
  // Somebody may be there who cannot be reached: the socket or the way to it is closed to us.
  std::optional<Error> trouble;
  bool named = false;  // the wish or ATOLL_STATE said where to look
};

// A URL is taken as it is; a socket is a target only if a daemon answers on it. The key is the one
// that was given, ATOLL_API_KEY or, for this host or a state directory that was named, what its key
// file holds: a key never goes to a host that it is not for.
Result<TargetSearch> find_target(const TargetWish& wish, const Environment& environment);

// What is said by those who need a daemon and have found none.
Error no_daemon(const TargetSearch& search);

// For those who can do without a daemon: an error when one was named that may be there and cannot
// be reached. An engine of our own would answer for another one than was asked.
Result<> check_that_nobody_was_meant(const TargetSearch& search);

// The socket is somebody else's.
Error not_permitted(const std::string& socket);

}  // namespace atl::client
