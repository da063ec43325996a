#include "template/root_users.h"

#include <fcntl.h>

#include <charconv>

#include "base/text.h"
#include "os/file.h"

namespace atl {
namespace {

constexpr size_t kLargestPasswd = 1 << 20;
constexpr size_t kLongestName = 256;
constexpr int64_t kLastId = 65'534;

}  // namespace

RootUsers parse_root_users(std::string_view passwd) {
  RootUsers users;
  for (const auto& line : split(passwd, '\n')) {
    const auto fields = split(line, ':');
    // As the agent reads it.
    if (fields.size() < 6 || fields[0].empty() || fields[0].size() > kLongestName) continue;
    if (fields[0].find('\0') != std::string::npos) continue;
    const std::string& number = fields[2];
    int64_t id = -1;
    const auto [end, trouble] = std::from_chars(number.data(), number.data() + number.size(), id);
    const bool is_number = trouble == std::errc() && end == number.data() + number.size();
    if (!is_number || id < 0 || id > kLastId) continue;
    if (users.size() >= kMostRootUsers && !users.contains(fields[0])) continue;
    users.try_emplace(fields[0], id);
  }
  return users;
}

RootUsers read_root_users(int tree) {
  // A link in it may lead anywhere in the tree, and never out of it.
  const auto file = os::open_in_root(tree, "etc/passwd", O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file) return {};
  const auto text = os::read_open_file(file->get(), kLargestPasswd);
  return text ? parse_root_users(*text) : RootUsers();
}

}  // namespace atl
