#include "library/wire.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "client/answer.h"
#include "json/encode.h"

namespace atoll_client {
namespace {

using atl::client::at;
using atl::client::count_at;
using atl::client::flag_at;
using atl::client::number_at;
using atl::client::text_at;
using atl::json::Array;
using atl::json::Object;
using atl::json::Value;

constexpr size_t kMostInput = 4 << 20;

atl::Error not_text(std::string_view what) {
  return atl::Error(atl::Code::invalid_argument, std::string(what) + ": it is not UTF-8");
}

atl::Result<> add_text(Object& body, std::string_view name, const std::string& text) {
  if (text.empty()) return {};
  if (!atl::is_utf8(text)) return not_text(name);
  body[name] = text;
  return {};
}

atl::Result<> add_map(Object& body, std::string_view name,
                      const std::map<std::string, std::string>& map) {
  if (map.empty()) return {};
  Object object;
  for (const auto& [key, value] : map) {
    if (!atl::is_utf8(key) || !atl::is_utf8(value)) return not_text(name);
    object[key] = value;
  }
  body[name] = std::move(object);
  return {};
}

std::string_view to_text(Access access) {
  switch (access) {
    case Access::read_only:
      return "ro";
    case Access::read_write:
      return "rw";
    case Access::copy_on_write:
      return "cow";
  }
  return "ro";
}

atl::Result<Array> to_array(const std::vector<Directory>& directories) {
  Array array;
  for (const Directory& directory : directories) {
    Object one;
    TRY_OK(add_text(one, "path", directory.host_path));
    TRY_OK(add_text(one, "guest_path", directory.path));
    one["access"] = to_text(directory.access);
    array.push_back(std::move(one));
  }
  return array;
}

int small_at(const Value& value, std::string_view path) {
  constexpr double kMost = 1e9;
  return static_cast<int>(std::clamp(number_at(value, path), -kMost, kMost));
}

}  // namespace

std::chrono::microseconds time_at(const Value& value, std::string_view path) {
  constexpr double kLongestMs = 1e15;
  const double ms = std::clamp(number_at(value, path), 0.0, kLongestMs);
  return std::chrono::microseconds(static_cast<int64_t>(ms * 1'000));
}

std::string to_text(const Object& body) { return atl::json::encode(Value(body)); }

atl::Result<Object> to_wire(const Command& command, Stdin input) {
  Object body;
  if (!command.argv.empty()) {
    Array argv;
    for (const std::string& word : command.argv) {
      if (!atl::is_utf8(word)) return not_text("argv");
      argv.push_back(Value(word));
    }
    body["argv"] = std::move(argv);
  }
  TRY_OK(add_text(body, "command", command.shell));
  TRY_OK(add_map(body, "env", command.env));
  TRY_OK(add_text(body, "cwd", command.cwd));
  TRY_OK(add_text(body, "user", command.user));
  if (command.input.size() > kMostInput) {
    return atl::Error(atl::Code::too_large, "input: it has more than 4 MiB")
        .with_hint("write it to a file of the sandbox, or spawn the command and use write_input");
  }
  if (!command.input.empty()) body["stdin_b64"] = atl::to_base64(command.input);
  if (input == Stdin::open) body["stdin_open"] = true;
  if (command.terminal) {
    body["tty"] = Object{{"rows", command.terminal->rows}, {"cols", command.terminal->columns}};
  }
  if (command.timeout.count() != 0) body["timeout_ms"] = command.timeout.count();
  if (command.cpu_time.count() != 0) body["cpu_time_ms"] = command.cpu_time.count();
  if (!command.warm) body["warm"] = false;
  return body;
}

atl::Result<Object> to_wire(const Settings& settings) {
  Object body;
  TRY_OK(add_text(body, "driver", settings.driver));
  TRY_OK(add_text(body, "min_isolation", settings.min_isolation));
  TRY_OK(add_text(body, "name", settings.name));
  TRY_OK(add_text(body, "warm", settings.warm));
  TRY_OK(add_text(body, "user", settings.user));
  TRY_OK(add_text(body, "cwd", settings.cwd));
  TRY_OK(add_map(body, "labels", settings.labels));
  TRY_OK(add_map(body, "env", settings.env));
  Object resources;
  if (settings.memory_mb != 0) resources["memory_mb"] = settings.memory_mb;
  if (settings.disk_mb != 0) resources["disk_mb"] = settings.disk_mb;
  if (!std::isfinite(settings.cpus))
    return atl::Error(atl::Code::invalid_argument, "cpus: it is no number");
  if (settings.cpus != 0) resources["cpu"] = settings.cpus;
  if (settings.pids != 0) resources["pids"] = settings.pids;
  if (!resources.empty()) body["resources"] = std::move(resources);
  if (!settings.directories.empty()) {
    TRY(body["host_dirs"], to_array(settings.directories));
  }
  if (!settings.files.empty()) {
    Object files;
    for (const auto& [path, bytes] : settings.files) {
      if (!atl::is_utf8(path)) return not_text("files");
      files[path] = atl::to_base64(bytes);
    }
    body["files_b64"] = std::move(files);
  }
  if (settings.ttl.count() != 0) body["ttl_s"] = settings.ttl.count();
  if (settings.idle.count() != 0) body["idle_s"] = settings.idle.count();
  TRY_OK(add_text(body, "on_expire", settings.on_expire));
  TRY_OK(add_text(body, "on_idle", settings.on_idle));
  if (settings.keep.count() != 0) body["keep_s"] = settings.keep.count();
  TRY_OK(add_text(body, "on_failure", settings.on_failure));
  return body;
}

atl::Result<Object> to_wire(const Code& code, const Settings& settings) {
  if (!atl::is_utf8(code.text)) return not_text("code");
  TRY(auto exec, to_wire(code.with, Stdin::given));
  TRY(auto sandbox, to_wire(settings));
  Object body{{"code", code.text}, {"exec", std::move(exec)}, {"sandbox", std::move(sandbox)}};
  TRY_OK(add_text(body, "language", code.language));
  Array requirements;
  for (const std::string& one : code.requirements) {
    if (!atl::is_utf8(one)) return not_text("requirements");
    requirements.push_back(Value(one));
  }
  if (!requirements.empty()) body["requirements"] = std::move(requirements);
  return body;
}

SandboxInfo to_sandbox(const Value& value) {
  SandboxInfo info;
  info.id = text_at(value, "id");
  info.name = text_at(value, "name");
  info.state = text_at(value, "state");
  info.driver = text_at(value, "driver");
  info.isolation = text_at(value, "isolation");
  info.tenant = text_at(value, "tenant");
  info.owner = text_at(value, "owner");
  info.created_at = text_at(value, "created_at");
  info.expires_at = text_at(value, "expires_at");
  info.failure = text_at(value, "failure");
  if (const Object* labels = at(value, "labels").if_object()) {
    for (const auto& label : *labels) {
      const auto* text = label.value().if_string();
      if (text != nullptr) info.labels[std::string(label.key())] = std::string(*text);
    }
  }
  info.json = atl::json::encode(value);
  return info;
}

Outcome to_outcome(const Value& exit) {
  Outcome outcome;
  outcome.exit_code = small_at(exit, "exit_code");
  outcome.signal = small_at(exit, "signal");
  outcome.reason = text_at(exit, "reason");
  outcome.limit = text_at(exit, "limit");
  outcome.warm = flag_at(exit, "warm");
  outcome.driver = text_at(exit, "driver");
  outcome.isolation = text_at(exit, "isolation");
  outcome.duration = time_at(exit, "duration_ms");
  outcome.cpu = time_at(exit, "usage.cpu_ms");
  outcome.peak_memory_bytes = count_at(exit, "usage.peak_memory_bytes");
  outcome.request_id = text_at(exit, "request_id");
  return outcome;
}

}  // namespace atoll_client
