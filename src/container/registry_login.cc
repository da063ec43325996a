#include "container/registry_login.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "container/engine_images.h"
#include "container/json_at_internal.h"
#include "json/write.h"
#include "os/file.h"

namespace atl::container {
namespace {

constexpr size_t kLargestFile = 1 << 20;

std::string variable(const char* name) {
  const char* value = getenv(name);
  return value != nullptr ? value : "";
}

// As RFC 4648 has it for URLs, which engines expect.
std::string to_base64_url(std::string_view bytes) {
  std::string text = to_base64(bytes);
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

// "https://index.docker.io/v1/" → "docker.io", "http://127.0.0.1:5000/" → "127.0.0.1:5000"
std::string host_of(std::string key) {
  for (const std::string_view scheme : {"https://", "http://"})
    if (key.starts_with(scheme)) key.erase(0, scheme.size());
  key = key.substr(0, key.find('/'));
  return key == "index.docker.io" || key == "registry-1.docker.io" ? std::string(kHub) : key;
}

}  // namespace

std::vector<std::string> login_files(const Dialect& dialect) {
  std::vector<std::string> files;
  const std::string home = variable("HOME");
  const std::string runtime = variable("XDG_RUNTIME_DIR");
  if (dialect.name == kPodman.name) {
    if (auto named = variable("REGISTRY_AUTH_FILE"); !named.empty()) files.push_back(named);
    if (!runtime.empty()) files.push_back(runtime + "/containers/auth.json");
    files.push_back("/run/containers/" + std::to_string(geteuid()) + "/auth.json");
    if (!home.empty()) files.push_back(home + "/.config/containers/auth.json");
  }
  if (auto named = variable("DOCKER_CONFIG"); !named.empty())
    files.push_back(named + "/config.json");
  if (!home.empty()) files.push_back(home + "/.docker/config.json");
  return files;
}

Result<std::string> find_login(const std::vector<std::string>& files, const std::string& registry) {
  for (const auto& file : files) {
    auto text = os::read_file(AT_FDCWD, file, kLargestFile);
    if (!text) continue;
    auto document = json::parse(*text);
    if (!document || !document->is_object()) {
      return Error(Code::unsupported, file + " is not what " + "docker login writes")
          .with_hint("log in to the registry again, or move the file away");
    }
    // Whoever has logged in with a helper program has an empty entry here.
    bool is_elsewhere = !text_at(find(&*document, "credHelpers"), registry).empty();
    const json::Value* logins = find(&*document, "auths");
    if (logins != nullptr && logins->is_object()) {
      for (const auto& one : logins->as_object()) {
        if (host_of(std::string(one.key())) != registry) continue;
        std::string user = text_at(&one.value(), "username");
        std::string password = text_at(&one.value(), "password");
        const std::string token = text_at(&one.value(), "identitytoken");
        if (auto pair = from_base64(text_at(&one.value(), "auth")); pair && !pair->empty()) {
          const size_t colon = pair->find(':');
          user = pair->substr(0, colon);
          if (colon != std::string::npos) password = pair->substr(colon + 1);
        }
        if (user.empty() && token.empty()) {
          is_elsewhere = true;
          continue;
        }
        std::string said;
        json::Object login{{"username", user}, {"password", password}, {"serveraddress", registry}};
        if (!token.empty()) login["identitytoken"] = token;
        json::write_value(said, login);
        return to_base64_url(said);
      }
    }
    if (is_elsewhere) {
      std::string why = "the password for " + registry;
      why.append(" is kept by a program that ").append(file).append(" names, and Atoll runs none");
      return Error(Code::unsupported, std::move(why))
          .with_hint("fetch the image by hand, or log in where no credsStore is set");
    }
  }
  return std::string();
}

}  // namespace atl::container
