#include "client/target.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "base/text.h"
#include "os/file.h"
#include "os/socket.h"

namespace atl::client {
namespace {

constexpr size_t kLargestKey = 4'096;

// "http://[::1]:7070/x" → "::1".
std::string_view host_of(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  std::string_view rest = url.substr(scheme + 3);
  rest = rest.substr(0, rest.find('/'));
  if (rest.starts_with('[')) return rest.substr(1, rest.find(']') - 1);
  return rest.substr(0, rest.rfind(':'));
}

bool is_this_host(std::string_view url) {
  const std::string_view host = host_of(url);
  return host == "localhost" || host == "127.0.0.1" || host == "::1";
}

std::string read_key(const std::string& state_directory) {
  auto text =
      os::read_file(AT_FDCWD, state_directory + "/" + std::string(kKeyFileName), kLargestKey);
  if (!text) return "";
  while (!text->empty() && (text->back() == '\n' || text->back() == ' ')) text->pop_back();
  return *text;
}

// Fine when a daemon answers on the socket of the directory.
Result<> knock(const std::string& state_directory) {
  TRY(const auto directory, os::open_at(AT_FDCWD, state_directory, O_PATH | O_DIRECTORY));
  TRY_OK(os::connect_at(directory.get(), std::string(kSocketName), os::SocketKind::stream));
  return {};
}

// No such directory, no socket in it, or one that a dead daemon left.
bool means_nobody(const Error& error) {
  return error.code() == Code::not_found || error.code() == Code::unavailable;
}

std::optional<std::string> non_empty(std::optional<std::string> value) {
  return value && !value->empty() ? value : std::nullopt;
}

}  // namespace

std::optional<std::string> find_variable(std::string_view name) {
  const char* value = getenv(std::string(name).c_str());
  return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

Result<std::string> home_directory(const Environment& environment) {
  if (auto home = non_empty(environment("HOME"))) return *std::move(home);
  std::vector<char> buffer(16 * 1024);
  passwd entry{};
  passwd* found = nullptr;
  const int failed = getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found);
  if (failed == 0 && found != nullptr && found->pw_dir[0] == '/') return std::string(found->pw_dir);
  return Error(Code::invalid_argument,
               fmt::format("there is no home directory to keep state in: HOME is not set, and the "
                           "password database has none for user {}",
                           geteuid()))
      .with_hint("name one: --state DIR, or ATOLL_STATE");
}

Result<std::string> default_state_directory(const Environment& environment) {
  if (geteuid() == 0) return std::string("/var/lib/atoll");
  if (const auto base = non_empty(environment("XDG_STATE_HOME")); base && base->starts_with('/')) {
    return *base + "/atoll";
  }
  TRY(const std::string home, home_directory(environment));
  return home + "/.local/state/atoll";
}

Result<std::string> state_directory_from(const TargetWish& wish, const Environment& environment) {
  if (wish.state_directory) return *wish.state_directory;
  if (const auto variable = non_empty(environment("ATOLL_STATE"))) return *variable;
  return default_state_directory(environment);
}

Result<TargetSearch> find_target(const TargetWish& wish, const Environment& environment) {
  const auto key = wish.key ? wish.key : non_empty(environment("ATOLL_API_KEY"));
  std::optional<std::string> url = wish.url;
  if (!url && !wish.state_directory) url = non_empty(environment("ATOLL_URL"));

  if (url) {
    Target target{.url = *url, .key = key.value_or("")};
    const bool named = wish.state_directory.has_value() || non_empty(environment("ATOLL_STATE"));
    if (target.key.empty() && (named || is_this_host(*url))) {
      if (const auto directory = state_directory_from(wish, environment))
        target.key = read_key(*directory);
    }
    TargetSearch search;
    search.found = std::move(target);
    return search;
  }

  TRY(const std::string directory, state_directory_from(wish, environment));
  TargetSearch search;
  search.socket = directory + "/" + std::string(kSocketName);
  search.named = wish.state_directory.has_value() || non_empty(environment("ATOLL_STATE"));
  if (auto answered = knock(directory)) {
    // The URL form wants an absolute path.
    std::string path = search.socket;
    if (!path.starts_with('/')) {
      const std::string here =
          std::unique_ptr<char, decltype(&free)>(get_current_dir_name(), &free).get();
      path = here + "/" + path;
    }
    search.found = Target{.url = "unix:" + path, .key = key.value_or("")};
  } else if (answered.error().code() == Code::permission_denied) {
    search.trouble = not_permitted(search.socket);
  } else if (!means_nobody(answered.error())) {
    search.trouble = std::move(answered).error().with("looking for the daemon of " + directory);
  }
  return search;
}

Error no_daemon(const TargetSearch& search) {
  if (search.trouble) return *search.trouble;
  return Error(Code::unavailable, "no daemon answers on " + to_printable(search.socket))
      .with_hint(
          "start one with: atoll serve   (or name another: --url, --state, ATOLL_URL); a single "
          "command needs none: atoll run -- COMMAND");
}

Result<> check_that_nobody_was_meant(const TargetSearch& search) {
  if (search.named && search.trouble) return *search.trouble;
  return {};
}

Error not_permitted(const std::string& socket) {
  return Error(Code::permission_denied,
               "permission denied: " + to_printable(socket) + " may not be opened")
      .with_hint(
          "a daemon's socket is for its own user and for root; become one of them, or go over TCP "
          "with a key: --url http://HOST:PORT, ATOLL_API_KEY");
}

}  // namespace atl::client
