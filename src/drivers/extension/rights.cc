#include "drivers/extension/rights.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/text.h"
#include "os/file.h"

namespace atl::extension {
namespace {

constexpr size_t kMostStatus = 16 * 1024;

// "CapEff:\t000001ffffffffff" is the line `name` of it.
std::string_view field_in(std::string_view status, std::string_view name) {
  const size_t at = status.find("\n" + std::string(name) + ":\t");
  if (at == std::string_view::npos) return {};
  const size_t begin = at + name.size() + 3;
  return status.substr(begin, status.find('\n', begin) - begin);
}

std::string user_namespace_of(const std::string& process) {
  std::array<char, 64> target;
  const ssize_t length =
      readlink(("/proc/" + process + "/ns/user").c_str(), target.data(), target.size());
  return {target.data(), static_cast<size_t>(std::max<ssize_t>(length, 0))};
}

}  // namespace

std::string in_words(const Rights& rights) {
  std::string words = rights.uid == 0 ? "as root" : "as user " + std::to_string(rights.uid);
  words += rights.has_capabilities ? ", with capabilities" : ", without capabilities";
  if (rights.no_new_privileges) words += " and without a way to more";
  return words;
}

std::string warning_of(const Rights& rights) {
  if (!rights.are_too_many()) return {};
  return std::string("its program runs ") + (rights.uid == 0 ? "as root" : "with capabilities") +
         ": whoever gets the better of it has this host";
}

std::optional<Rights> find_rights(const os::PeerCredentials& listener) {
  const std::string process = std::to_string(listener.pid);
  const auto status = os::read_file(AT_FDCWD, "/proc/" + process + "/status", kMostStatus);
  if (listener.pid <= 0 || !status) return std::nullopt;
  Rights rights;
  rights.uid =
      static_cast<uid_t>(std::strtoul(std::string(field_in(*status, "Uid")).c_str(), nullptr, 10));
  // Its pid may be somebody else's by now, and then this says nothing about it.
  if (field_in(*status, "Uid").empty() || rights.uid != listener.uid) return std::nullopt;
  rights.no_new_privileges = field_in(*status, "NoNewPrivs") == "1";
  const bool has_any =
      std::strtoull(std::string(field_in(*status, "CapEff")).c_str(), nullptr, 16) != 0;
  rights.has_capabilities = has_any && user_namespace_of(process) == user_namespace_of("self");
  return rights;
}

Result<Rights> get_rights_at(const std::string& socket) {
  const size_t slash = socket.rfind('/');
  TRY(const auto directory,
      os::open_at(AT_FDCWD, socket.substr(0, slash + 1), O_PATH | O_DIRECTORY));
  const auto connection =
      os::connect_at(directory.get(), socket.substr(slash + 1), os::SocketKind::stream);
  if (!connection) return Error(connection.error()).with_hint("is it running? start it first");
  TRY(const auto listener, os::peer_of(connection->get()));
  // Its uid is the kernel's word; what else it may do shows only while it is there.
  return find_rights(listener).value_or(Rights{.uid = listener.uid});
}

}  // namespace atl::extension
