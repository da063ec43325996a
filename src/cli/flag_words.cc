#include "cli/flag_words.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "cli/args.h"

namespace atl::cli {
namespace {

struct Words {
  std::string_view theirs;
  std::string_view ours;
};

constexpr Words kFields[] = {
    {"name", "--name"},
    {"labels", "--label"},
    {"ttl_s", "--ttl"},
    {"idle_s", "--idle"},
    {"keep_s", "--keep"},
    {"on_expire", "--on-expire"},
    {"on_idle", "--on-idle"},
    {"on_failure", "--on-failure"},
    {"on_last", "--on-last"},
    {"scope", "--scope"},
    {"key", "--key"},
    {"resources.cpu", "--cpus"},
    {"resources.memory_mb", "--memory"},
    {"resources.pids", "--pids"},
    {"resources.disk_mb", "--disk"},
    {"resources.cpu_weight", "--cpu-weight"},
    {"resources.sharing", "--dedicated"},
    {"rootfs", "--rootfs"},
    {"template", "--template"},
    {"image", "--image"},
    {"pull", "--pull"},
    {"runtime", "--runtime"},
    {"persistence", "--persistent"},
    {"network", "--network"},
    {"snapshot", "--snapshot"},
    {"min_isolation", "--min-isolation"},
    {"placement", "--placement"},
    {"driver_labels", "--driver-label"},
    {"profile", "--profile"},
    {"as", "--as"},
    {"host_dirs", "--volume"},
    {"mounts", "--volume"},
    {"env", "--env"},
    {"cwd", "--workdir"},
    {"user", "--user"},
    {"queue_timeout_ms", "--queue-timeout"},
    {"timeout_ms", "--timeout"},
    {"cpu_time_ms", "--cpu-time"},
};

// Names that mean nothing else wherever they stand.
constexpr Words kUnmistakable[] = {
    {"ttl_s", "--ttl"},
    {"idle_s", "--idle"},
    {"queue_timeout_ms", "--queue-timeout"},
    {"keep_s", "--keep"},
    {"on_expire", "--on-expire"},
    {"on_idle", "--on-idle"},
    {"on_failure", "--on-failure"},
    {"timeout_ms", "--timeout"},
    {"cpu_time_ms", "--cpu-time"},
    {"min_isolation", "--min-isolation"},
};

constexpr Words kHints[] = {
    {"GET /v1/sandboxes/{id}/processes lists them",
     "without --process it is the command that was started last"},
    {"upload the files with PUT /v1/sandboxes/{id}/files, or call on the host itself",
     "copy the files instead: atoll cp PATH BOX:PATH"},
    {"docs/api.md lists them", "is the daemon older than this program? atoll version tells both"},
    {"list the sandboxes that there are", "atoll ps lists them"},
    {"destroy some, or ask for less; GET /v1/limits tells what there may be",
     "remove some with atoll rm, or ask for less; atoll limits tells what there may be"},
};

constexpr std::string_view kHttpOnly[] = {"/v1/",   "application/",    "Authorization",
                                          "Bearer", "Idempotency-Key", "?path="};

// "labels.a" and "host_dirs[0].path" belong to "labels" and "host_dirs".
bool belongs_to(std::string_view field, std::string_view name) {
  return field == name ||
         (field.starts_with(name) && (field[name.size()] == '.' || field[name.size()] == '['));
}

// "sandbox: ttl_s: why" → "ttl_s: why".
std::string_view without_part(std::string_view message) {
  for (const std::string_view part : {"sandbox: ", "exec: "}) {
    if (message.starts_with(part)) message.remove_prefix(part.size());
  }
  return message;
}

// "ttl_s: why" → "ttl_s".
std::string_view field_of(std::string_view message) {
  return message.substr(0, message.find(": "));
}

// "sandbox: ttl_s: why" → "--ttl: why".
std::string with_flag(std::string_view message) {
  const std::string_view rest = without_part(message);
  const std::string_view field = field_of(rest);
  if (field.size() == rest.size()) return std::string(message);
  for (const auto& [theirs, ours] : kFields) {
    if (!belongs_to(field, theirs)) continue;
    std::string text(ours);
    const bool named = (theirs == "labels" || theirs == "env") && field.size() > theirs.size();
    if (named) text += " " + std::string(field.substr(theirs.size() + 1));
    return text + std::string(rest.substr(field.size()));
  }
  return std::string(message);
}

std::string replace_fields(std::string text) {
  for (const auto& [theirs, ours] : kUnmistakable) {
    for (size_t at = text.find(theirs); at != std::string::npos; at = text.find(theirs, at)) {
      text.replace(at, theirs.size(), ours);
      at += ours.size();
    }
  }
  return text;
}

std::string to_hint(std::string_view hint) {
  for (const auto& [theirs, ours] : kHints) {
    if (hint == theirs) return std::string(ours);
  }
  for (const std::string_view word : kHttpOnly) {
    if (hint.find(word) != std::string_view::npos) return "";
  }
  return replace_fields(std::string(hint));
}

}  // namespace

bool is_about_time(const Error& error) {
  if (error.code() != Code::invalid_argument) return false;
  constexpr std::string_view kTimes[] = {"ttl_s", "idle_s", "keep_s", "timeout_ms", "cpu_time_ms"};
  return std::ranges::find(kTimes, field_of(without_part(error.message()))) != std::end(kTimes);
}

Error in_flag_words(const Error& error) {
  if (is_usage_error(error)) return error;  // it speaks of flags already
  std::string message = error.message();
  // Other errors may quote what a guest or a system said, which is not ours to change.
  const bool about_fields = error.code() == Code::invalid_argument ||
                            error.code() == Code::permission_denied ||
                            error.code() == Code::already_exists;
  if (about_fields) message = replace_fields(with_flag(message));
  return Error(error.code(), std::move(message), error.os_errno())
      .with_hint(to_hint(error.hint()))
      .at_stage(error.stage())
      .with_refusal(error.refusal());
}

}  // namespace atl::cli
