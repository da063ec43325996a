// atoll-launcher: makes sandboxes for the daemon, or for one `atoll run`. See launcher.h.
//
//   atoll-launcher --keep UID GID   keeper and launcher
//   atoll-launcher --embedded       for the client on descriptor 4; ends with it
//   atoll-launcher --service        keeper and launcher that systemd has started, see service.h
//
// Descriptor 3 is the run directory; in a service it becomes that.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "native/launcher/keeper.h"
#include "native/launcher/launcher.h"
#include "native/launcher/service.h"
#include "os/file.h"

namespace {

using namespace atl;
using namespace atl::native;

constexpr int kRunDirectory = 3;
constexpr int kClient = 4;

int fail(const Error& error) {
  std::fprintf(stderr, "atoll-launcher: %s\n", error.message().c_str());
  return 125;
}

// Through a read-only mount that hangs nowhere: whoever gets hold of a running agent's program
// cannot write to it.
Result<Fd> open_read_only(const std::string& path) {
  if (geteuid() == 0) {
    Fd tree(open_tree(AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
    mount_attr wanted{};
    wanted.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    const unsigned flags = AT_EMPTY_PATH | AT_RECURSIVE;
    if (tree && mount_setattr(tree.get(), "", flags, &wanted, sizeof wanted) == 0) return tree;
  }
  return os::open_at(AT_FDCWD, path, O_PATH);
}

// The programs that lie beside us; asking the kernel where we are cannot be misled by argv.
struct Companions {
  std::string path;
  Fd directory;  // one mount for all, because the kernel takes its time to let go of each

  static Result<Companions> find() {
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    if (length < 0) return os_error("finding my own program");
    Companions found{std::string(path, static_cast<size_t>(length)), Fd()};
    found.path.resize(found.path.rfind('/') + 1);
    TRY(found.directory, open_read_only(found.path));
    return found;
  }

  Result<Fd> open(const char* name) const {
    Fd program(openat(directory.get(), name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat info{};
    if (program && fstat(program.get(), &info) == 0 && S_ISREG(info.st_mode)) return program;
    return open_read_only(path + name);  // a link would lead out of the mount
  }
};

int serve(LauncherLife life, Identity identity, Fd listener = {}) {
  LauncherOptions options;
  options.listener = std::move(listener);
  options.life = life;
  options.identity = identity;
  const auto beside = Companions::find();
  if (!beside) return fail(beside.error());
  auto program = beside->open("atoll-agent");
  if (!program) return fail(program.error());
  options.program = std::move(*program);
  // Missed by those alone who need it.
  options.oci_program = beside->open("atoll-oci").value_or(Fd());
  options.pool_program = beside->open("atoll-pool").value_or(Fd());
  options.run_directory = Fd(fcntl(kRunDirectory, F_DUPFD_CLOEXEC, 10));
  if (life == LauncherLife::embedded) {
    options.client = Fd(fcntl(kClient, F_DUPFD_CLOEXEC, 10));
    close(kClient);
  }
  auto launcher = Launcher::create(std::move(options));
  if (!launcher) return fail(launcher.error());
  if (auto served = (*launcher)->run(); !served) return fail(served.error());
  return 0;
}

int serve_kept(void* identity) {
  return serve(LauncherLife::kept, *static_cast<Identity*>(identity));
}

int serve_in_service(void* parts) {
  clearenv();
  auto& ours = *static_cast<ServiceParts*>(parts);
  return serve(LauncherLife::kept, ours.identity, std::move(ours.listener));
}

int keep_in_service(char** argv) {
  auto parts = take_service_parts();
  if (!parts) return fail(parts.error());
  if (dup2(parts->run_directory.get(), kRunDirectory) < 0)
    return fail(os_error("placing the run directory"));
  auto kept = keep(KeptFor::service, kRunDirectory, serve_in_service, &*parts);
  if (!kept) return fail(kept.error());
  return *kept == KeptUntil::replacement ? fail(replace_service(parts->listener, argv)) : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--keep") == 0) {
    Identity identity{static_cast<uid_t>(std::strtoul(argv[2], nullptr, 10)),
                      static_cast<gid_t>(std::strtoul(argv[3], nullptr, 10))};
    // Detached, so that the daemon has nothing to wait for and a terminal's Ctrl-C does not reach
    // it.
    const pid_t detached = fork();
    if (detached != 0) return detached > 0 ? 0 : 125;
    setsid();
    auto kept = keep(KeptFor::daemon, kRunDirectory, serve_kept, &identity);
    return kept ? 0 : fail(kept.error());
  }
  if (argc == 2 && std::strcmp(argv[1], "--embedded") == 0) {
    return serve(LauncherLife::embedded, Identity{getuid(), getgid()});
  }
  if (argc == 2 && std::strcmp(argv[1], "--service") == 0) return keep_in_service(argv);
  std::fprintf(stderr, "atoll-launcher %s: started by atoll only\n", ATOLL_VERSION);
  return 2;
}
