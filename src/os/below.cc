#include "os/below.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "os/file.h"

namespace atl::os {
namespace {

bool lies_in(const std::string& path, const std::string& directory) {
  return path == directory || directory == "/" ||
         (path.starts_with(directory) && path[directory.size()] == '/');
}

}  // namespace

bool is_below(int directory, const std::string& root) {
  const auto source = path_of(directory);
  const auto top = open_at(AT_FDCWD, root, O_PATH | O_DIRECTORY);
  struct stat meant{};
  if (!source || !top || fstat(directory, &meant) != 0) return false;
  const auto real = path_of(top->get());
  if (!real || !lies_in(*source, *real)) return false;
  const std::string rest =
      *source == *real ? "." : source->substr(*real == "/" ? 1 : real->size() + 1);
  const auto found = open_without_links(top->get(), rest, O_PATH | O_DIRECTORY);
  struct stat facts{};
  return found && fstat(found->get(), &facts) == 0 && facts.st_dev == meant.st_dev &&
         facts.st_ino == meant.st_ino;
}

}  // namespace atl::os
