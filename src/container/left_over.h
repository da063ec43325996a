// What runs without a daemon leave with an engine when they are killed: a container that was made
// and never started, whose agent cannot notice that it is alone.
//
// Such a run has a directory of its own, base/run-XXXXXX, and holds a lock on it as long as it
// lives (native/launcher_client.h). Its containers tell the directory, and which base it is by its
// device and inode: a path alone may mean another place elsewhere, whose runs nobody here knows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace atl::container {

// Whose the containers of a run are: `directory` is base/run-XXXXXX/engines/NAME.
std::string instance_of_run(const std::string& directory);

// The ids of sandboxes that have a directory in this one.
std::vector<std::string> kept_in(const std::string& directory);

// True when it is a run's beside the one of `directory`, and that run has ended.
bool is_left_over(std::string_view instance, const std::string& directory);

}  // namespace atl::container
