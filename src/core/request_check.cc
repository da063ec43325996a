#include "core/request_check.h"

#include <algorithm>
#include <cmath>

#include "base/ids.h"
#include "base/text.h"
#include "base/time_words.h"
#include "core/healing.h"

namespace atl {
namespace {

Error invalid(std::string_view field, std::string_view problem) {
  return Error(Code::invalid_argument, std::string(field) + ": " + std::string(problem));
}

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

bool is_plain(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return is_utf8(text);
}

bool is_label_name(std::string_view name) {
  if (name.empty() || name.size() > 63) return false;
  for (const char c : name) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '_' || c == '-' || c == '/';
    if (!fine) return false;
  }
  return true;
}

Result<> check_whole(std::string_view field, const std::optional<int64_t>& value, int64_t most,
                     std::string_view unit = "") {
  if (!value || (*value > 0 && *value <= most)) return {};
  std::string words = std::to_string(*value) + " is not between 1 and " + std::to_string(most);
  return invalid(field, words.append(unit.empty() ? "" : " ").append(unit));
}

Result<> check_user(std::string_view user) {
  if (!has_nul(user) && user.size() <= kMostText) return {};
  return invalid("user", "it is a name of at most 256 bytes");
}

Result<> check_cwd(std::string_view cwd) {
  if (!has_nul(cwd) && cwd.size() < 4096) return {};
  return invalid("cwd", "it is a path of less than 4096 bytes without NUL");
}

Result<> check_directory(std::string_view field, const HostDirectory& directory) {
  if (!directory.directory) return invalid(field, "the host directory is not open");
  const std::string& path = directory.guest_path;
  const bool inside = path.starts_with('/') && !has_nul(path) && path.size() < 4096 &&
                      (path + "/").find("/../") == std::string::npos;
  if (!inside) return invalid(field, "the path in the sandbox is absolute and has no ..");
  return {};
}

struct TimeLimit {
  std::string_view field;
  std::string_view what;
  std::string_view hint;
};
constexpr TimeLimit kWhole = {"ttl_s", "a sandbox may live",
                              "a sandbox that is needed for longer can be renewed before it ends"};
constexpr TimeLimit kIdle = {"idle_s", "a sandbox may live unused",
                             "leave it out, and a sandbox ends with its ttl_s alone"};
constexpr TimeLimit kKeep = {"keep_s", "a sandbox may be kept after its ttl_s",
                             "whoever uses it meanwhile wakes it, and its ttl_s counts anew"};

Result<> check_life(const TimeLimit& about, std::chrono::seconds life,
                    const EngineOptions& options) {
  if (life.count() <= 0) {
    return invalid(about.field,
                   std::to_string(life.count()) + " is no time to live; 1 second is the least");
  }
  if (life <= options.longest_ttl) return {};
  // Somebody may ask for more seconds than milliseconds can count.
  constexpr std::chrono::seconds kMost(INT64_MAX / 1'000);
  return invalid(about.field, too_long(std::min(life, kMost), options.longest_ttl, about.what))
      .with_hint(about.hint);
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Only what can be part of an image's name: engines and registries get it in paths.
Result<> check_image(const CreateRequest& request) {
  constexpr std::string_view kName =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@";
  const bool is_name = request.image.find_first_not_of(kName) == std::string::npos &&
                       request.image.find_first_of("._-/:@") != 0;
  if (request.image.size() > kMostText || !is_name) {
    return invalid("image", "it is NAME[:TAG] or NAME@sha256:DIGEST, in at most 256 bytes");
  }
  // Nothing that leads anywhere but down in a path.
  for (const auto& whole : split(request.image, '/')) {
    if (request.image.empty()) break;
    const std::string_view part = std::string_view(whole).substr(0, whole.find_first_of(":@"));
    if (part.empty() || !is_letter_or_digit(part.front()) || !is_letter_or_digit(part.back()))
      return invalid("image", "each part of its name begins and ends with a letter or a digit");
  }
  // A host and a tag may have others.
  const size_t tag = request.image.find_first_of(":@", request.image.rfind('/') + 1);
  const std::string_view repository = std::string_view(request.image).substr(0, tag);
  const size_t slash = repository.find('/');
  const bool has_host = slash != std::string_view::npos &&
                        repository.substr(0, slash).find_first_of(".:") != std::string_view::npos;
  const bool is_lower =
      std::ranges::none_of(repository.substr(has_host ? slash : 0),
                           [](char letter) { return letter >= 'A' && letter <= 'Z'; });
  if (!is_lower) return invalid("image", "its name is in small letters; a tag may have others");
  constexpr std::string_view kHex = "0123456789abcdef";
  if (const size_t at = request.image.find('@'); at != std::string::npos) {
    const std::string_view digest = std::string_view(request.image).substr(at + 1);
    const bool is_digest = digest.starts_with("sha256:") && digest.size() == 7 + 64 &&
                           digest.find_first_not_of(kHex, 7) == std::string_view::npos;
    if (!is_digest)
      return invalid("image", "what follows the @ is sha256: and 64 hexadecimal digits");
  }
  if (!request.image.empty() && request.root) {
    return invalid("image", "a sandbox has one root: this, a template or a rootfs");
  }
  constexpr std::string_view kWord =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  if (request.runtime.size() > 64 || request.runtime.starts_with('-') ||
      request.runtime.find_first_not_of(kWord) != std::string::npos) {
    return invalid("runtime", "it is the name of a runtime, in at most 64 letters");
  }
  return {};
}

Result<> check_ending(const CreateRequest& request, const EngineOptions& options) {
  if (request.idle) TRY_OK(check_life(kIdle, *request.idle, options));
  if (request.on_idle && !request.idle) {
    return invalid("on_idle", "there is no idle_s, so it is never idle")
        .with_hint("say after how long: idle_s, --idle 5m");
  }
  if (!request.keep) return {};
  TRY_OK(check_life(kKeep, *request.keep, options));
  if (request.on_expire.value_or(OnEnd::kill) != OnEnd::kill) return {};
  return invalid("keep_s", "a sandbox that ends with its ttl_s is not kept")
      .with_hint("say what becomes of it: on_expire pause or stop");
}

}  // namespace

Result<> check_labels(const std::map<std::string, std::string>& labels) {
  if (labels.size() > kMostLabels) {
    return invalid("labels", "there are " + std::to_string(labels.size()) + ", at most " +
                                 std::to_string(kMostLabels) + " are allowed");
  }
  for (const auto& [name, value] : labels) {
    if (!is_label_name(name)) {
      return invalid("labels", "a name is 1 to 63 letters, digits and . _ - /; this one is not: " +
                                   to_printable(name.substr(0, 80)));
    }
    if (value.size() > kMostText) {
      return invalid("labels." + name, "the value has " + std::to_string(value.size()) +
                                           " bytes, at most " + std::to_string(kMostText) +
                                           " are allowed");
    }
    if (!is_plain(value)) {
      return invalid("labels." + name, "the value has a control character in it or is not UTF-8");
    }
  }
  return {};
}

Result<> check_env(const std::map<std::string, std::string>& env) {
  if (env.size() > kMostEnv) {
    return invalid("env", "there are " + std::to_string(env.size()) + " variables, at most " +
                              std::to_string(kMostEnv) + " are allowed");
  }
  size_t bytes = 0;
  for (const auto& [name, value] : env) {
    bytes += name.size() + value.size() + 2;
    if (name.empty()) return invalid("env", "a variable has no name");
    if (name.find('=') != std::string::npos || has_nul(name) || !is_utf8(name)) {
      return invalid("env", "a name is text without '=' and NUL; this one is not: " +
                                to_printable(name.substr(0, 80)));
    }
    // The value may be a secret, so it is not shown.
    if (has_nul(value)) return invalid("env." + name, "the value has a NUL in it");
  }
  if (bytes > kMostEnvBytes) {
    return invalid("env", "it takes " + std::to_string(bytes) + " bytes, at most " +
                              std::to_string(kMostEnvBytes) + " are allowed");
  }
  return {};
}

Result<> check_ttl(std::chrono::seconds ttl, const EngineOptions& options) {
  return check_life(kWhole, ttl, options);
}

Result<> check_resources(const Resources& resources) {
  if (const auto& cpu = resources.cpu; cpu && !(*cpu > 0 && *cpu <= kMostCpu)) {
    return invalid("resources.cpu", "it is more than 0 and at most 1024 cores");
  }
  TRY_OK(check_whole("resources.memory_mb", resources.memory_mb, kMostMemoryMb, "MiB"));
  TRY_OK(check_whole("resources.pids", resources.pids, kMostPids));
  TRY_OK(check_whole("resources.disk_mb", resources.disk_mb, kMostDiskMb, "MiB"));
  TRY_OK(check_whole("resources.cpu_weight", resources.cpu_weight, kMostCpuWeight));
  const bool burstable = resources.sharing.value_or(Sharing::burstable) == Sharing::burstable;
  if (resources.cpu_weight && !burstable) {
    return invalid("resources.cpu_weight", "a weight makes a sandbox burstable, and nothing else");
  }
  if (resources.sharing == Sharing::limited && !resources.cpu && !resources.memory_mb) {
    return invalid("resources.sharing", "limited needs a limit: cpu, memory_mb or both");
  }
  if (resources.sharing != Sharing::dedicated) return {};
  if (!resources.cpu || *resources.cpu != std::floor(*resources.cpu)) {
    return invalid("resources.cpu", "dedicated processors are whole ones: 1, 2, …");
  }
  return {};
}

Result<> check_resize(const Resources& resources) {
  if (resources == Resources{}) return invalid("resources", "nothing is to be changed");
  if (resources.sharing) {
    return invalid("resources.sharing", "whose its processors are is settled when it is made");
  }
  return check_resources(resources);
}

Result<> check_queue_timeout(Millis timeout, const EngineOptions& options) {
  const Millis most = options.admission.longest_queue_timeout;
  if (timeout.count() >= 0 && timeout <= most) return {};
  return invalid("queue_timeout_ms",
                 "it is from 0, which does not wait, to " + std::to_string(most.count()));
}

Result<> check_create(const CreateRequest& request, const EngineOptions& options) {
  if (!request.name.empty()) {
    auto named = check_sandbox_name(request.name);
    if (!named) return std::move(named).error().with("name");
  }
  if (request.user_id.size() > kMostText || !is_plain(request.user_id)) {
    return invalid("user_id", "it is text of at most 256 bytes");
  }
  if (request.ttl) TRY_OK(check_ttl(*request.ttl, options));
  TRY_OK(check_ending(request, options));
  TRY_OK(check_can_be_made_again(request));
  if (request.queue_timeout) TRY_OK(check_queue_timeout(*request.queue_timeout, options));
  TRY_OK(check_labels(request.labels));
  TRY_OK(policy::check_driver_labels(request.driver_labels));
  TRY_OK(check_env(request.env));
  TRY_OK(check_resources(request.resources));
  if (request.mounts.size() > kMostMounts) {
    return invalid("mounts", "at most " + std::to_string(kMostMounts) + " are allowed");
  }
  for (const auto& mount : request.mounts) TRY_OK(check_directory("mounts", mount));
  if (request.workspace && !request.workspace->directory) {
    return invalid("workspace", "the host directory is not open");
  }
  if (request.root && !request.root->directory) {
    return invalid("rootfs", "the host directory is not open");
  }
  TRY_OK(check_image(request));
  if (!request.warm.empty() && request.warm != "python3" && request.warm != "node")
    return invalid("warm", "only python3 and node can wait for a command");
  TRY_OK(check_files(request.files));
  TRY_OK(check_user(request.defaults.user));
  return check_cwd(request.defaults.cwd);
}

Result<> check_run(const CreateRequest& request) {
  const auto check = [](std::string_view field, bool is_fine) -> Result<> {
    if (is_fine) return {};
    return invalid(field, "a run's sandbox ends with its command")
        .with_hint("create a sandbox, and exec in it");
  };
  TRY_OK(check("on_expire", request.on_expire.value_or(OnEnd::kill) == OnEnd::kill));
  TRY_OK(check("on_idle", request.on_idle.value_or(OnEnd::kill) == OnEnd::kill));
  TRY_OK(check("keep_s", !request.keep));
  TRY_OK(check("persistence", request.persistence != Persistence::checkpoint));
  const Life life = request.lifecycle.value_or(Life::ephemeral);
  TRY_OK(check("lifecycle", life != Life::persistent && life != Life::workspace));
  return check("on_failure", request.on_failure.value_or(OnFailure::fail) == OnFailure::fail);
}

Result<> check_lifecycle(const Caller& caller, const CreateRequest& request) {
  if (request.lifecycle == Life::ephemeral) {
    return invalid("lifecycle", "what is ephemeral ends with a single command")
        .with_hint("run the command: POST /v1/runs, atoll run");
  }
  const bool is_held = request.scope.value_or(SessionScope::session) != SessionScope::session;
  if (request.lifecycle == Life::workspace && !is_held) {
    return invalid("lifecycle", "what lives as long as a workspace is held by sessions of one")
        .with_hint("open one: POST /v1/sessions, atoll session open --scope workspace");
  }
  if (request.lifecycle != Life::persistent) return {};
  const auto check = [](std::string_view field, bool is_fine) -> Result<> {
    if (is_fine) return {};
    return invalid(field, "with lifecycle: persistent it lives as long as the server");
  };
  TRY_OK(check("ttl_s", !request.ttl));
  TRY_OK(check("on_expire", !request.on_expire));
  TRY_OK(check("keep_s", !request.keep));
  TRY_OK(check("idle_s", !request.idle || request.on_idle.value_or(OnEnd::kill) != OnEnd::kill));
  if (request.scope) return invalid("lifecycle", "it lives as long as sessions hold it");
  if (caller.role == Role::admin || request.may_persist) return {};
  return Error(Code::permission_denied,
               "lifecycle: persistent takes a profile that says so, or an administrator")
      .with_hint("a profile of the operator's with `lifecycle: persistent` (docs/profiles.md)");
}

Result<> check_checkpoint(const CreateRequest& request) {
  if (request.persistence != Persistence::checkpoint) {
    if (!request.checkpoint) return {};
    return invalid("checkpoint", "it takes persistence: checkpoint");
  }
  if (request.name.empty()) {
    return invalid("persistence", "what ends is found again by its name, and there is none")
        .with_hint("give it a name, or open a session with a key");
  }
  const bool shows_host = request.workspace || !request.mounts.empty() || request.root;
  if (request.checkpoint != SnapshotKind::memory || !shows_host) return {};
  return invalid("checkpoint",
                 "memory is not kept of a sandbox with a template or directories of the host");
}

Result<> check_idempotency(const Idempotency& idempotency) {
  const std::string& key = idempotency.key;
  if (!key.empty() && key.size() <= 255 && is_plain(key)) return {};
  return invalid("Idempotency-Key", "it is text of 1 to 255 bytes");
}

namespace {

Result<> check_time(const char* field, Millis time) {
  if (time.count() < 0) return invalid(field, std::to_string(time.count()) + " is less than zero");
  if (time <= kLongestTimeout) return {};
  return invalid(field, too_long(time, kLongestTimeout, "a command may run"));
}

}  // namespace

Result<> check_exec(const ExecRequest& request) {
  if (request.argv.empty() || request.argv[0].empty()) {
    return invalid("argv", "there is no command");
  }
  if (request.argv.size() > kMostArguments) {
    return invalid("argv", "at most " + std::to_string(kMostArguments) + " arguments are allowed");
  }
  size_t bytes = 0;
  for (const auto& argument : request.argv) {
    bytes += argument.size() + 1;
    if (has_nul(argument)) return invalid("argv", "an argument has a NUL in it");
  }
  if (bytes > kMostArgumentBytes) {
    return invalid("argv", "it takes " + std::to_string(bytes) + " bytes, at most " +
                               std::to_string(kMostArgumentBytes) + " are allowed");
  }
  TRY_OK(check_env(request.env));
  TRY_OK(check_cwd(request.cwd));
  TRY_OK(check_user(request.user));
  TRY_OK(check_time("timeout_ms", request.timeout));
  return check_time("cpu_time_ms", request.cpu_time);
}

}  // namespace atl
