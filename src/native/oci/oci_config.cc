#include "native/oci/oci_config.h"

#include <linux/capability.h>

#include <cstdio>

namespace atl::native {
namespace {

constexpr struct {
  int number;
  const char* name;
} kCapabilities[] = {
    {CAP_CHOWN, "CAP_CHOWN"},
    {CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"},
    {CAP_FOWNER, "CAP_FOWNER"},
    {CAP_FSETID, "CAP_FSETID"},
    {CAP_KILL, "CAP_KILL"},
    {CAP_SETGID, "CAP_SETGID"},
    {CAP_SETUID, "CAP_SETUID"},
    {CAP_SETPCAP, "CAP_SETPCAP"},
    {CAP_NET_BIND_SERVICE, "CAP_NET_BIND_SERVICE"},
    {CAP_AUDIT_WRITE, "CAP_AUDIT_WRITE"},
    {CAP_SETFCAP, "CAP_SETFCAP"},
};

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.append("\\").push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out += '"';
}

std::string list(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const auto& item : items) out.append(out.size() > 1 ? "," : "").append(item);
  return out += ']';
}

std::string quoted_list(const std::vector<std::string>& texts) {
  std::vector<std::string> items;
  items.reserve(texts.size());
  for (const auto& text : texts) items.push_back(quoted(text));
  return list(items);
}

std::string capabilities_of(uint64_t bits) {
  std::vector<std::string> names;
  for (const auto& [number, name] : kCapabilities) {
    if ((bits >> number & 1) != 0) names.emplace_back(name);
  }
  const std::string held = quoted_list(names);
  return "{\"bounding\":" + held + ",\"effective\":" + held + ",\"permitted\":" + held + "}";
}

std::string mount(const std::string& place, const char* type, const std::string& source,
                  const std::vector<std::string>& options) {
  return "{\"destination\":" + quoted(place) + ",\"type\":\"" + type +
         "\",\"source\":" + quoted(source) + ",\"options\":" + quoted_list(options) + "}";
}

}  // namespace

std::string to_json(const OciConfig& config) {
  std::vector<std::string> mounts{mount("/proc", "proc", "proc", {}),
                                  mount("/dev", "tmpfs", "tmpfs", {"nosuid"})};
  for (const auto& bind : config.binds)
    mounts.push_back(mount(bind.path, "bind", bind.path, {"rbind", "rw"}));
  const std::string files = std::to_string(config.open_files);
  std::vector<std::string> namespaces;
  for (const char* kind : {"pid", "mount", "ipc", "uts", "network"})
    namespaces.push_back(std::string("{\"type\":\"") + kind + "\"}");
  return "{\"ociVersion\":\"1.0.2\",\"process\":{\"user\":{\"uid\":0,\"gid\":0},\"args\":" +
         quoted_list(config.arguments) + ",\"env\":[],\"cwd\":\"/\",\"noNewPrivileges\":true," +
         "\"capabilities\":" + capabilities_of(config.capabilities) +
         ",\"rlimits\":[{\"type\":\"RLIMIT_NOFILE\",\"hard\":" + files + ",\"soft\":" + files +
         "}]},\"root\":{\"path\":\"/\",\"readonly\":false},\"hostname\":" +
         quoted(config.hostname) + ",\"mounts\":" + list(mounts) +
         ",\"linux\":{\"namespaces\":" + list(namespaces) + "}}\n";
}

}  // namespace atl::native
