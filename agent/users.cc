#include "agent/users.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <optional>
#include <utility>

#include "base/text.h"
#include "native/plan.h"
#include "os/file.h"

namespace atl::agent {
namespace {

constexpr size_t kLargestPasswd = 1 << 20;
constexpr uint32_t kLastId = 65'533;

std::optional<uint32_t> number_of(std::string_view text) {
  uint32_t value = 0;
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (trouble != std::errc() || end != text.data() + text.size() || value > kLastId + 1) return {};
  return value;
}

}  // namespace

std::vector<User> listed_users(int root) {
  // A guest writes this file, so nothing in it is believed but the shape of its lines.
  const auto file = os::open_in_root(root, "etc/passwd", O_RDONLY | O_NONBLOCK | O_NOCTTY);
  const auto text =
      file ? os::read_open_file(file->get(), kLargestPasswd) : Result<std::string>("");
  std::vector<User> users;
  for (const auto& line : text ? split(*text, '\n') : std::vector<std::string>()) {
    const auto fields = split(line, ':');
    if (fields.size() < 6) continue;
    const auto uid = number_of(fields[2]);
    const auto gid = number_of(fields[3]);
    if (!uid || !gid) continue;
    users.push_back({*uid, *gid, fields[0], fields[5].starts_with('/') ? fields[5] : "/"});
  }
  return users;
}

Result<User> find_user(int root, const std::string& asked) {
  const std::string wanted = asked.empty() ? native::kUserName : asked;
  const auto number = number_of(wanted);
  for (auto& user : listed_users(root)) {
    if (user.name == wanted || user.uid == number) return std::move(user);
  }
  if (number) return User{*number, *number, wanted, "/"};
  if (wanted == native::kUserName) {
    return User{native::kUserId, native::kUserId, wanted, native::kHome};
  }
  if (wanted == "root") return User{0, 0, wanted, "/root"};
  return Error(Code::not_found, "the sandbox has no user '" + to_printable(wanted) + "'")
      .with_hint("users are in the sandbox's /etc/passwd; a number works too");
}

Error no_other_user(const std::string& asked, uint32_t only) {
  return Error(Code::unsupported, "this driver cannot run as user '" + to_printable(asked) + "'")
      .with_hint("every command is user " + std::to_string(only) +
                 " here; drivers with users of their own are native and gvisor");
}

Result<User> find_only_user(int root, const std::string& asked) {
  const uint32_t self = geteuid();
  const std::string number = std::to_string(self);
  const bool is_default = asked.empty() || asked == native::kUserName;
  auto user = find_user(root, is_default ? number : asked);
  if (!user || user->uid != self) return no_other_user(asked, self);
  user->gid = getegid();
  if (user->name == number) user->name = native::kUserName;
  // In an image that is read-only, homes are; ours is not.
  if (faccessat(root, user->home.c_str() + 1, W_OK, AT_EACCESS) != 0)
    user->listed_home = std::exchange(user->home, native::kHome);
  return user;
}

std::string with_moved_home(std::string_view path, std::string_view listed, std::string_view home) {
  const std::string below = std::string(listed) + "/";
  std::string moved;
  for (const auto& place : split(path, ':')) {
    if (listed.size() > 1 && place.starts_with(below))
      moved.append(home).append("/").append(place.substr(below.size())) += ':';
    moved.append(place) += ':';
  }
  if (!moved.empty()) moved.pop_back();
  return moved;
}

}  // namespace atl::agent
