#include "native/oci/box_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "base/text.h"
#include "native/oci/gate.h"
#include "native/oci/runtime.h"
#include "os/file.h"
#include "os/process.h"
#include "os/tar_pack.h"
#include "os/tar_unpack.h"

namespace atl::native {
namespace {

// Where root_plan.cc lets a sandbox write that has no root and no directory of its caller's.
constexpr const char* kPlaces[] = {"/workspace", "/home/user", "/root",   "/tmp",
                                   "/var/tmp",   "/run",       "/dev/shm"};
// What changes with every library of the host, the agent, and the second kernel.
constexpr const char* kBasis[] = {"/etc/ld.so.cache", kGatedAgent, kRuntimeProgram};
constexpr const char* kBasisFile = "basis";
constexpr size_t kLargestBasis = 4096;
constexpr std::string_view kDeleted = " (deleted)";
constexpr size_t kPiece = 256 * 1024;

std::string archive_of(const char* place) {
  std::string name = place + 1;
  std::ranges::replace(name, '/', '-');
  return name + ".tar";
}

std::string describe_basis() {
  std::string text;
  for (const char* path : kBasis) {
    struct stat info{};
    static_cast<void>(stat(path, &info));
    text += std::string(path) + " " + std::to_string(info.st_size) + " " +
            std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec) + "\n";
  }
  return text;
}

Result<> check_basis(int directory) {
  TRY(const auto noted, os::read_file(directory, kBasisFile, kLargestBasis));
  if (noted == describe_basis()) return {};
  return Error(Code::conflict, "the snapshot was made with other programs than this host has now")
      .with_hint(
          "Atoll, runsc or a library was updated: take it again; a snapshot of files would last");
}

std::vector<dev_t> file_systems() {
  std::vector<dev_t> found;
  for (const char* place : kPlaces) {
    struct stat info{};
    if (stat(place, &info) == 0) found.push_back(info.st_dev);
  }
  return found;
}

// What the kernel calls an open file; "" when it is closed meanwhile.
std::string name_of(const std::string& link) {
  std::array<char, 4096> target;
  const ssize_t length = readlink(link.c_str(), target.data(), target.size());
  return {target.data(), static_cast<size_t>(std::max<ssize_t>(length, 0))};
}

Result<> check_process(pid_t pid, const std::vector<dev_t>& ours) {
  const std::string open = "/proc/" + std::to_string(pid) + "/fd";
  for (const auto& number : os::names_in(AT_FDCWD, open)) {
    const std::string link = std::string(open).append("/").append(number);
    std::string name = name_of(link);
    struct stat info{};
    if (!name.ends_with(kDeleted) || stat(link.c_str(), &info) != 0) continue;
    if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) continue;
    if (std::ranges::find(ours, info.st_dev) == ours.end()) continue;
    // Who serves files to the second kernel sees them from another root; the last part is the same.
    name.resize(name.size() - kDeleted.size());
    name.erase(0, name.rfind('/') + 1);
    return Error(Code::conflict,
                 "a process has '" + to_printable(name) + "' open, which was removed")
        .with_hint("gVisor cannot keep such files: end the process, or take a snapshot of files");
  }
  return {};
}

}  // namespace

Result<> check_can_be_kept(const BoxFacts& facts) {
  if (!facts.has_own_root && facts.shown.empty()) return {};
  return Error(Code::unsupported,
               "the memory of a sandbox with a template or with directories of the host cannot be "
               "kept")
      .with_hint("take a snapshot of its files, or use a sandbox without them");
}

Result<uint64_t> pack_box_files(int directory) {
  TRY_OK(os::replace_file(directory, kBasisFile, describe_basis(), 0644));
  uint64_t left_out = 0;
  for (const char* place : kPlaces) {
    // Followed, since a home of another name is behind the usual one; links above are ours alone.
    TRY(const auto start, os::open_at(AT_FDCWD, place, O_RDONLY | O_DIRECTORY));
    TRY(const auto archive,
        os::open_at(directory, archive_of(place), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644));
    os::PackLimits limits;
    limits.links = TarLinks::any;
    limits.owners = true;
    const auto write = [&](std::string_view bytes) { return os::write_all(archive.get(), bytes); };
    auto packed = os::pack_tree(start.get(), "", limits, write, nullptr);
    if (!packed) return std::move(packed).error().with(std::string("keeping ") + place);
    left_out += packed->skipped;
  }
  return left_out;
}

Result<> unpack_box_files(int directory) {
  TRY_OK(check_basis(directory));
  std::string piece(kPiece, '\0');
  for (const char* place : kPlaces) {
    TRY(const auto archive, os::open_at(directory, archive_of(place), O_RDONLY | O_NOFOLLOW));
    TRY(const auto to, os::open_at(AT_FDCWD, place, O_RDONLY | O_DIRECTORY));
    os::UnpackLimits limits;
    limits.owners = true;
    os::TarUnpacker unpacker(to.get(), limits, nullptr);
    TarReader reader(unpacker, TarLinks::any);
    for (;;) {
      const ssize_t got = read(archive.get(), piece.data(), piece.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return os_error("reading a snapshot");
      if (got == 0) break;
      auto put = reader.put(std::string_view(piece).substr(0, static_cast<size_t>(got)));
      if (!put) return std::move(put).error().with(std::string("putting back ") + place);
    }
    TRY_OK(reader.finish());
  }
  return {};
}

Result<> check_open_files() {
  const auto ours = file_systems();
  for (const auto& process : os::all_processes()) {
    if (process.pid != getpid()) TRY_OK(check_process(process.pid, ours));
  }
  return {};
}

}  // namespace atl::native
