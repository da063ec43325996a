#include "drivers/extension/grants.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/text.h"
#include "drivers/extension/settings.h"
#include "json/json.h"
#include "os/file.h"

namespace atl::extension {
namespace {

constexpr std::string_view kEnding = ".json";
constexpr size_t kLargestGrant = 2 * kLargestManifest;

std::string directory_in(const std::string& state) {
  return state + "/" + std::string(kGrantsDirectory);
}

Result<Grant> read_file(int directory, const std::string& file,
                        const std::vector<std::string>& taken) {
  TRY(const std::string text, os::read_file(directory, file, kLargestGrant));
  TRY(auto grant, json::decode<Grant>(text));
  TRY_OK(check_manifest(grant.manifest, taken));
  if (grant.manifest.name + std::string(kEnding) != file)
    return Error(Code::invalid_argument, "it is about " + grant.manifest.name);
  TRY(grant.settings, complete(grant.manifest.configuration, grant.settings));
  return grant;
}

// Made by root for a daemon that is somebody else.
Result<> give_to_owner_of(const std::string& state, int directory, const std::string& name) {
  struct stat owner{};
  if (stat(state.c_str(), &owner) != 0) return os_error("looking at", state);
  if (geteuid() != 0 || owner.st_uid == 0) return {};
  if (fchownat(directory, name.c_str(), owner.st_uid, owner.st_gid, AT_SYMLINK_NOFOLLOW) != 0)
    return os_error("giving the extension's file to the daemon's user");
  return {};
}

Error unknown(const std::string& name, const std::vector<Grant>& grants) {
  std::string names;
  for (const auto& grant : grants) names += (names.empty() ? "" : ", ") + grant.manifest.name;
  return Error(Code::not_found, "no extension is called " + to_printable(name))
      .with_hint(names.empty() ? "add one: atoll extension add MANIFEST" : "there are: " + names);
}

}  // namespace

ReadGrants read_grants(const std::string& state, const std::vector<std::string>& taken) {
  ReadGrants read;
  const auto directory =
      os::open_at(AT_FDCWD, directory_in(state), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (!directory) {
    if (directory.error().os_errno() != ENOENT) read.unreadable.push_back(directory.error());
    return read;
  }
  auto names = os::names_in(directory->get());
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(kEnding); });
  std::ranges::sort(names);
  if (names.size() > kMostExtensions) {
    read.unreadable.emplace_back(Code::too_large, "only the first 64 extensions are used");
    names.resize(kMostExtensions);
  }
  for (const auto& name : names) {
    auto grant = read_file(directory->get(), name, taken);
    if (grant) {
      read.grants.push_back(*std::move(grant));
    } else {
      read.unreadable.push_back(
          std::move(grant).error().with(directory_in(state) + "/" + to_printable(name)));
    }
  }
  return read;
}

Result<Grant> read_grant(const std::string& state, const std::string& name,
                         const std::vector<std::string>& taken) {
  auto read = read_grants(state, taken);
  const auto found = std::ranges::find_if(
      read.grants, [&](const Grant& grant) { return grant.manifest.name == name; });
  if (found != read.grants.end()) return std::move(*found);
  if (!read.unreadable.empty()) return std::move(read.unreadable.front());
  return unknown(name, read.grants);
}

Result<> write_grant(const std::string& state, const Grant& grant) {
  std::error_code ignored;  // what is missing shows below
  std::filesystem::create_directories(std::filesystem::path(state).parent_path(), ignored);
  if (mkdir(state.c_str(), 0700) != 0 && errno != EEXIST) return os_error("making", state);
  const std::string path = directory_in(state);
  const bool is_new = mkdir(path.c_str(), 0700) == 0;
  if (!is_new && errno != EEXIST) return os_error("making", path);
  if (is_new) TRY_OK(give_to_owner_of(state, AT_FDCWD, path));
  TRY(const auto directory, os::open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string name = grant.manifest.name + std::string(kEnding);
  const auto names = os::names_in(directory.get());
  if (names.size() >= kMostExtensions && std::ranges::find(names, name) == names.end())
    return Error(Code::resource_exhausted, "there are 64 extensions, and no more can be added");
  TRY_OK(os::replace_file(directory.get(), name, json::encode(grant) + "\n", 0600));
  return give_to_owner_of(state, directory.get(), name);
}

Result<> remove_grant(const std::string& state, const std::string& name) {
  if (!is_extension_name(name)) return unknown(name, {});
  const std::string path = directory_in(state) + "/" + name + std::string(kEnding);
  if (unlink(path.c_str()) == 0) return {};
  if (errno == ENOENT) return unknown(name, read_grants(state, {}).grants);
  return os_error("removing", path);
}

Result<uid_t> check_socket(const std::string& path, std::optional<uid_t> uid) {
  struct stat info{};
  if (lstat(path.c_str(), &info) != 0) {
    const int why = errno;
    return Error(why == ENOENT ? Code::unavailable : Code::permission_denied,
                 "nobody is at " + to_printable(path) + ": " +
                     os_error_from(why, "looking").message())
        .with_hint("start the extension; docs/extensions.md has a unit for systemd");
  }
  if (!S_ISSOCK(info.st_mode))
    return Error(Code::permission_denied, to_printable(path) + " is no socket");
  if ((info.st_mode & S_IWOTH) != 0) {
    return Error(Code::permission_denied,
                 "everybody on this host can write to " + to_printable(path))
        .with_hint("make it 0660, of a group that Atoll's user is in");
  }
  if (uid && info.st_uid != *uid) {
    return Error(Code::permission_denied, to_printable(path) + " belongs to user " +
                                              std::to_string(info.st_uid) + " and not to " +
                                              std::to_string(*uid))
        .with_hint("if that is right, add the extension again");
  }
  return info.st_uid;
}

}  // namespace atl::extension
