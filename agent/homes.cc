#include "agent/homes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include "agent/users.h"
#include "os/file.h"
#include "os/tree_walk.h"

namespace atl::agent {
namespace {

constexpr std::string_view kHomes = "/home/";
constexpr uint32_t kFirstPerson = 1000;
constexpr size_t kMostPeople = 64;

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos;
}

void give_home(int homes, const std::string& name, const User& user, dev_t device) {
  const auto home = os::open_at(homes, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  if (!home) return;
  const auto give = [&](const os::WalkedFile& file) -> Result<os::WalkStep> {
    // A directory of the host that is shown here keeps its owner.
    if (S_ISDIR(file.info.st_mode) && file.info.st_dev != device) return os::WalkStep::leave_out;
    if (S_ISREG(file.info.st_mode) && file.info.st_size > static_cast<off_t>(kLargestFileOfHome))
      return os::WalkStep::go_on;
    if (file.info.st_uid != 0) return os::WalkStep::go_on;
    // The home itself by its name: gVisor's kernel gives nothing away by a descriptor of O_PATH.
    const bool is_home = file.name.empty();
    const int given =
        fchownat(is_home ? homes : file.directory, is_home ? name.c_str() : file.name.c_str(),
                 user.uid, user.gid, AT_SYMLINK_NOFOLLOW);
    return given == 0 ? os::WalkStep::go_on : os::WalkStep::leave_out;
  };
  (void)os::walk_tree(home->get(), {.depth = 32, .files = kMostFilesOfHome}, give);
}

}  // namespace

void give_homes(int root) {
  const auto homes = os::open_at(root, "home", O_PATH | O_DIRECTORY | O_NOFOLLOW);
  struct stat info{}, above{};
  if (!homes || fstat(homes->get(), &info) != 0 || fstat(root, &above) != 0) return;
  if (info.st_dev != above.st_dev) return;
  size_t people = 0;
  for (const User& user : listed_users(root)) {
    if (user.uid < kFirstPerson || !user.home.starts_with(kHomes)) continue;
    const std::string name = user.home.substr(kHomes.size());
    if (!is_plain_name(name)) continue;
    if (++people > kMostPeople) return;
    give_home(homes->get(), name, user, info.st_dev);
  }
}

}  // namespace atl::agent
