#include "config/search.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "os/file.h"

namespace atl::config {
namespace {

constexpr std::array<std::string_view, 2> kNames = {"atoll.yaml", "cognition.yaml"};
constexpr int kMostParents = 64;

bool exists(const std::string& path) {
  struct stat info{};
  return lstat(path.c_str(), &info) == 0;
}

std::optional<std::string> file_in(const std::string& directory) {
  for (const std::string_view name : kNames) {
    std::string path = directory + (directory.ends_with('/') ? "" : "/") + std::string(name);
    if (exists(path)) return path;
  }
  return std::nullopt;
}

std::string parent_of(const std::string& directory) {
  const size_t slash = directory.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : directory.substr(0, slash);
}

// From the current directory upward; empty when neither a work tree nor the home is around it.
std::vector<std::string> project_directories(const Places& places) {
  std::vector<std::string> directories;
  std::string at = places.current_directory;
  for (int step = 0; step < kMostParents; ++step) {
    directories.push_back(at);
    if (at == places.home || exists(at + "/.git")) return directories;
    if (at == "/") break;
    at = parent_of(at);
  }
  return {places.current_directory};
}

bool is_ours(uid_t owner) {
  if (owner == geteuid() || owner == 0) return true;
  if (geteuid() != 0) return false;
  // Under sudo, whoever has become root.
  const char* caller = getenv("SUDO_UID");
  if (caller == nullptr) return false;
  const std::string_view text(caller);
  uid_t uid = 0;
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), uid);
  return trouble == std::errc() && end == text.data() + text.size() && uid == owner;
}

Result<std::string> read_project(const std::string& path) {
  // Not blocking: a pipe of that name would let us wait for ever.
  TRY(const auto file, os::open_at(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info{};
  if (fstat(file.get(), &info) != 0) return os_error("looking at", path);
  if (!S_ISREG(info.st_mode)) {
    return Error(Code::permission_denied, "it is no plain file").with(to_printable(path));
  }
  if (!is_ours(info.st_uid)) {
    return Error(Code::permission_denied, "it belongs to another user")
        .with(to_printable(path))
        .with_hint("if you trust it, name it: --config FILE; --config none does without");
  }
  return os::read_open_file(file.get(), kLargestFile);
}

}  // namespace

std::string_view to_string(From from) {
  switch (from) {
    case From::flag:
      return "flag";
    case From::variable:
      return "variable";
    case From::named:
      return "named file";
    case From::project:
      return "project file";
    case From::user:
      return "user file";
    case From::system:
      return "system file";
    case From::usual:
      return "default";
  }
  return "";
}

std::vector<Found> find_files(const Places& places) {
  std::vector<Found> found;
  if (places.named == "none") return found;
  if (!places.named.empty()) {
    found.push_back({From::named, places.named});
  } else if (!places.current_directory.empty()) {
    for (const std::string& directory : project_directories(places)) {
      if (auto path = file_in(directory)) {
        found.push_back({From::project, *std::move(path)});
        break;
      }
    }
  }
  if (!places.user_directory.empty()) {
    if (auto path = file_in(places.user_directory + "/atoll")) {
      found.push_back({From::user, *std::move(path)});
    }
  }
  if (!places.system_directory.empty()) {
    if (auto path = file_in(places.system_directory)) {
      found.push_back({From::system, *std::move(path)});
    }
  }
  return found;
}

Result<Layer> read_layer(const Found& found, const Environment& environment) {
  auto text = found.from == From::project ? read_project(found.path)
                                          : os::read_file(AT_FDCWD, found.path, kLargestFile);
  if (!text) return std::move(text).error().with("the configuration");
  Layer layer{.from = found.from, .path = found.path};
  const size_t slash = found.path.rfind('/');
  layer.directory = slash == std::string::npos ? "./" : found.path.substr(0, slash + 1);
  layer.settings = read_settings(*text, to_printable(found.path), environment);
  return layer;
}

bool has_other_name(std::string_view path) {
  return path == kNames[1] || path.ends_with("/" + std::string(kNames[1]));
}

}  // namespace atl::config
