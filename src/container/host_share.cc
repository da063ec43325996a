#include "container/host_share.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "native/plan.h"
#include "os/below.h"
#include "os/file.h"

namespace atl::container {
namespace {

bool lies_in(const std::string& path, const std::string& directory) {
  return path == directory || directory == "/" ||
         (path.starts_with(directory) && path[directory.size()] == '/');
}

bool is_same(const struct stat& one, const HostShare& share) {
  return static_cast<uint64_t>(one.st_dev) == share.device && one.st_ino == share.inode;
}

// What an engine, or we, put into every container: in it nothing can be shown, nor around it, where
// a place for it would be made in the host's directory.
constexpr std::string_view kTaken[] = {"/opt/atoll", "/proc",           "/sys",
                                       "/dev",       "/etc/hosts",      "/etc/hostname",
                                       "/etc/mtab",  "/etc/resolv.conf"};
// Where a file system in memory is, unless a directory of the host takes its place.
constexpr std::string_view kCovered[] = {native::kWorkspace, native::kHome, "/tmp", "/run",
                                         "/var/tmp"};

// Where engines listen, whichever of them we speak to.
constexpr std::string_view kEngineSockets[] = {
    "/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock",
    "/run/docker/containerd/containerd.sock", "/run/crio/crio.sock"};

// Whether it leads to the socket, or to the place of one that is not there yet. By whatever name
// either is known: links on the way are followed, and a directory may be mounted twice.
bool leads_to(const HostShare& share, const std::string& socket) {
  if (!socket.starts_with('/')) return false;
  if (lies_in(socket, share.source)) return true;
  std::error_code unresolved;
  std::filesystem::path place = std::filesystem::weakly_canonical(socket, unresolved);
  if (unresolved) place = socket;
  for (;;) {
    struct stat facts{};
    if (stat(place.c_str(), &facts) == 0 && is_same(facts, share)) return true;
    if (place == place.root_path()) return false;
    place = place.parent_path();
  }
}

// Whoever has the socket of an engine rules the host.
Result<> refuse_sockets(const HostShare& share, const ShareRules& rules) {
  if (rules.engine_socket.empty()) return {};
  const std::string where = to_printable(share.source);
  const auto refused = [](const std::string& what) {
    return Error(Code::permission_denied, what + ", and no sandbox may have it")
        .with_hint("show what lies below, or take a profile with allow_docker_socket");
  };
  if (leads_to(share, rules.engine_socket)) return refused("the engine's socket is in " + where);
  for (const auto& other : kEngineSockets) {
    const std::string socket(other);
    if (!leads_to(share, socket)) continue;
    std::string what = "the place of an engine's socket, ";
    what += socket;
    return refused(what.append(", is in ").append(where));
  }
  return {};
}

Result<> check_target(const std::string& asked, const ShareRules& rules) {
  const std::string target = std::filesystem::path(asked).lexically_normal().string();
  const std::string place =
      target.size() > 1 && target.ends_with('/') ? target.substr(0, target.size() - 1) : target;
  const auto refused = [&](std::string_view by) {
    return Error(Code::invalid_argument, "mounts: nothing can be shown at " + to_printable(place) +
                                             ": " + std::string(by) + " of the sandbox is there")
        .with_hint("take a path of its own, such as /data, or one below /workspace");
  };
  for (const auto& taken : kTaken) {
    const std::string one(taken);
    if (lies_in(place, one) || lies_in(one, place)) return refused(one);
  }
  for (const auto& covered : kCovered) {
    const std::string one(covered);
    if (one != place && lies_in(one, place)) return refused(one);
  }
  if (!rules.home.empty() && rules.home != place && lies_in(rules.home, place))
    return refused(rules.home);
  const std::string& socket = rules.socket_inside;
  if (!socket.empty() && (lies_in(place, socket) || lies_in(socket, place))) return refused(socket);
  return {};
}

std::string in_words(const std::vector<std::string>& roots) {
  std::string text;
  for (const auto& root : roots) text += (text.empty() ? "" : ", ") + root;
  return text;
}

Result<HostShare> make_share(const HostDirectory& asked, std::string target,
                             const ShareRules& rules) {
  if (asked.access == HostAccess::cow) {
    return Error(Code::unsupported, "a container engine cannot show a copy of a directory")
        .with_hint("take --here=ro or rw, or --driver native");
  }
  if (rules.roots.empty()) {
    return Error(Code::unsupported, "containers are shown no directory of the host here")
        .with_hint(
            "the operator can allow it: ATOLL_ENGINE_MOUNT_ROOTS=/directory, or mount_roots of a "
            "profile");
  }
  TRY(auto source, os::path_of(asked.directory.get()));
  struct stat facts{};
  if (fstat(asked.directory.get(), &facts) != 0) return os_error("looking at", source);
  HostShare share{std::move(source), std::move(target), asked.access == HostAccess::rw,
                  static_cast<uint64_t>(facts.st_dev), facts.st_ino};
  const std::string where = to_printable(share.source);
  if (std::ranges::none_of(rules.roots, [&](const std::string& root) {
        return os::is_below(asked.directory.get(), root);
      })) {
    return Error(Code::permission_denied, where + " may not be shown to containers here")
        .with_hint("allowed is what lies below " + in_words(rules.roots));
  }
  TRY_OK(refuse_sockets(share, rules));
  return share;
}

}  // namespace

Result<std::vector<std::string>> parse_share_roots(const std::string& text) {
  std::vector<std::string> roots;
  for (const auto& part : split(text, ':')) {
    if (part.empty()) continue;
    if (!part.starts_with('/')) {
      return Error(Code::invalid_argument,
                   "ATOLL_ENGINE_MOUNT_ROOTS: " + to_printable(part) + " is not an absolute path")
          .with_hint("it is directories of the host, with a colon between them: /srv/a:/srv/b");
    }
    roots.emplace_back(part);
  }
  return roots;
}

Result<std::vector<HostShare>> make_shares(const SandboxSpec& spec, const ShareRules& rules) {
  std::vector<HostShare> shares;
  if (spec.workspace) {
    TRY(auto share, make_share(*spec.workspace, native::kWorkspace, rules));
    shares.push_back(std::move(share));
  }
  for (const auto& mount : spec.mounts) {
    TRY_OK(check_target(mount.guest_path, rules));
    TRY(auto share, make_share(mount, mount.guest_path, rules));
    shares.push_back(std::move(share));
  }
  return shares;
}

Result<> refuse_unseen(const std::vector<HostShare>& shares) {
  if (shares.empty()) return {};
  return Error(Code::unsupported,
               "what a container behind a second kernel is shown cannot be looked at, so " +
                   to_printable(shares.front().source) + " is not shown to it")
      .with_hint("copy it in (atoll cp), or take driver gvisor, which shows directories to read");
}

Result<> check_shares(const std::vector<HostShare>& shares, pid_t first_process) {
  const std::string path = "/proc/" + std::to_string(first_process) + "/root";
  if (shares.empty()) return {};
  TRY(const auto root, os::open_at(AT_FDCWD, path, O_PATH | O_DIRECTORY));
  for (const auto& share : shares) {
    TRY(const auto found, os::open_in_root(root.get(), share.target, O_PATH | O_DIRECTORY));
    struct stat facts{};
    if (fstat(found.get(), &facts) != 0) return os_error("looking at", share.target);
    if (!is_same(facts, share)) {
      return Error(Code::conflict,
                   "the engine has shown another directory than " + to_printable(share.source))
          .with_hint("it was moved or replaced meanwhile: try again");
    }
  }
  return {};
}

}  // namespace atl::container
