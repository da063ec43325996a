#include "cli/sandbox_flags.h"

#include <fmt/core.h>
#include <stdlib.h>
#include <unistd.h>

#include <charconv>
#include <memory>

#include "base/ids.h"
#include "base/text.h"
#include "cli/flag_words.h"
#include "core/request_check.h"
#include "json/describe.h"
#include "policy/driver_labels.h"
#include "policy/profile.h"
#include "template/reference.h"

namespace atl::cli {
namespace {

constexpr Flag kFlags[] = {
    {"driver", 0, "NAME",
     "the driver; without it, the first that is strong enough (atoll drivers)"},
    {"run-mode", 0, "MODE",
     "a named route instead: auto, docker (then native), wasm (then docker, native), a driver"},
    {"strategy", 0, "HOW",
     "who is asked first of those that would do: priority, fastest, cheapest, round_robin, "
     "weighted"},
    {"min-isolation", 0, "LEVEL", "the weakest allowed: none, process, container, sentry, vm"},
    {"profile", 0, "NAME[@N]", "a recipe of settings (atoll profile ls); none = without one"},
    {"profiles", 0, "PATH", "a file or directory with profiles of your own, without a daemon"},
    {"placement", 0, "WHERE", "how far away it may run: host, own (default), third_party"},
    {"driver-label", 0, "K=V", "a label that the driver must have; may be repeated"},
    {"name", 0, "NAME", "a name to call it by"},
    {"label", 0, "K=V", "a label; may be repeated"},
    {"ttl", 0, "TIME", "how long the sandbox may live: 30s, 10m, 2h"},
    {"on-expire", 0, "WHAT", "then it is killed (default), or kept: stop, pause"},
    {"keep", 0, "TIME", "how long it is kept after that: 24h (default)"},
    {"idle", 0, "TIME", "how long it may live without being used"},
    {"on-idle", 0, "WHAT", "then it is killed (default), or rests: stop, pause"},
    {"on-failure", 0, "WHAT", "when it dies it stays failed: fail (default), or recreate"},
    {"queue-timeout", 0, "TIME", "how long it may wait for its turn with a busy daemon; 0 = not"},
    {"memory", 'm', "SIZE", "at most this much memory: 256m, 1g"},
    {"cpus", 0, "N", "at most this many processors: 0.5, 2"},
    {"pids", 0, "N", "at most this many processes"},
    {"disk", 0, "SIZE", "at most this much disk"},
    {"cpu-weight", 0, "N", "its part of busy processors, 1 to 10000; 100 is usual"},
    {"dedicated", 0, "", "--cpus whole processors and --memory are kept for it alone"},
    {"volume", 'v', "SRC[:DST][:MODE]",
     "show a directory of the host; MODE is rw (default), ro or cow"},
    {"here", 0, "MODE", "the current directory as the workspace: cow, ro or rw", "auto"},
    {"rootfs", 0, "DIR", "a directory of the host as the root file system; it is not changed"},
    {"template", 0, "NAME[:TAG]", "a template as the root file system (atoll template ls)"},
    {"image", 0, "NAME", "an image of the driver's engine as the root file system"},
    {"pull", 0, "WHEN", "when the engine fetches it: missing (default), never, always"},
    {"runtime", 0, "NAME", "a runtime of the driver's engine: runsc, kata (atoll drivers)"},
    {"persistent", 0, "", "keep what is changed in the root file system"},
    {"lifecycle", 0, "WHAT",
     "session (default); persistent: as long as the server; workspace: as sessions do"},
    {"persistence", 0, "WHAT", "ephemeral (default), persistent, checkpoint"},
    {"checkpoint", 0, "WHAT", "what ends is kept for the next of its name: disk or memory", "disk"},
    {"network", 0, "WHAT", "none, or bridge with a profile that allows it"},
    {"snapshot", 0, "NAME", "start from a snapshot, by its id or name (atoll snapshot ls)"},
    {"explain", 0, "", "tell what would be made, and make nothing"},
};

constexpr Flag kResize[] = {
    {"memory", 'm', "SIZE", "at most this much memory: 256m, 1g"},
    {"cpus", 0, "N", "at most this many processors: 0.5, 2"},
    {"pids", 0, "N", "at most this many processes"},
    {"cpu-weight", 0, "N", "its part of busy processors, 1 to 10000; 100 is usual"},
};

template <typename Number>
Result<Number> parse_number(std::string_view flag, std::string_view text) {
  Number number{};
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (trouble != std::errc() || end != text.data() + text.size() || !(number > 0)) {
    return usage_error(fmt::format("--{}: '{}' is no positive number", flag, to_printable(text)));
  }
  return number;
}

template <typename Enum>
Result<Enum> parse_enum(std::string_view flag, std::string_view text) {
  if (const auto value = json::find_enum<Enum>(text)) return *value;
  std::vector<std::string> known;
  std::string list;
  for (const std::string_view name : json::detail::kEnumNames<Enum>) {
    known.emplace_back(name);
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  const std::string near = did_you_mean(text, known);
  return usage_error(fmt::format("--{}: '{}' is none of {}{}", flag, to_printable(text), list,
                                 near.empty() ? "" : " (did you mean " + near + "?)"));
}

// What is wrong whoever would serve it is wrong on the command line.
Result<> check(const std::optional<std::string>& name, std::map<std::string, std::string> labels,
               Resources resources) {
  if (name) {
    const auto fine = check_sandbox_name(*name);
    if (!fine) return usage_error("--name: " + fine.error().message());
  }
  const auto fine = check_create({.labels = std::move(labels), .resources = resources}, {});
  if (!fine) return usage_error(in_flag_words(fine.error()).message());
  return {};
}

Result<std::string> absolute(const std::string& path) {
  const std::unique_ptr<char, decltype(&free)> real(realpath(path.c_str(), nullptr), &free);
  if (real == nullptr) return os_error("the directory", to_printable(path));
  return std::string(real.get());
}

}  // namespace

constinit const std::span<const Flag> kSandboxFlags = kFlags;
constinit const std::span<const Flag> kResizeFlags = kResize;

Result<std::map<std::string, std::string>> labels_from(const Args& args) {
  std::map<std::string, std::string> labels;
  for (const std::string& label : args.all("label")) {
    const size_t equals = label.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return usage_error(fmt::format("--label: '{}' is not of the form K=V", to_printable(label)));
    }
    labels[label.substr(0, equals)] = label.substr(equals + 1);
  }
  return labels;
}

Result<int64_t> parse_mib(std::string_view flag, std::string_view text) {
  // As in a configuration file and a variable.
  const bool alone =
      !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  auto bytes = parse_size(alone ? std::string(text) + "m" : std::string(text));
  if (!bytes) return usage_error(fmt::format("--{}: {}", flag, bytes.error().message()));
  constexpr int64_t kMib = 1 << 20;
  const int64_t most = flag == "disk" ? kMostDiskMb : kMostMemoryMb;
  if (alone && *bytes / kMib > most) {
    return usage_error(fmt::format("--{}: {} MiB is more than anybody has", flag, text))
        .with_hint(fmt::format("a number alone counts MiB; for bytes write the unit: {}b", text));
  }
  if (*bytes <= 0) return usage_error(fmt::format("--{}: it must be more than zero", flag));
  return *bytes / kMib + (*bytes % kMib != 0 ? 1 : 0);
}

Result<int64_t> parse_seconds(std::string_view flag, std::string_view text) {
  auto span = parse_duration(text);
  if (!span) return usage_error(fmt::format("--{}: {}", flag, span.error().message()));
  if (span->count() <= 0) return usage_error(fmt::format("--{}: it must be more than zero", flag));
  return span->count() / 1'000 + (span->count() % 1'000 != 0 ? 1 : 0);
}

Result<WireHostDir> parse_volume(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return usage_error(fmt::format("--volume: '{}' {}", to_printable(text), why))
        .with_hint("the form is SRC[:DST][:ro|rw|cow]");
  };
  std::vector<std::string> parts = split(text, ':');
  WireHostDir dir{.access = HostAccess::rw};
  if (parts.size() > 1) {
    if (const auto access = json::find_enum<HostAccess>(parts.back())) {
      dir.access = *access;
      parts.pop_back();
    }
  }
  if (parts[0].empty()) return bad("names no directory");
  if (parts.size() > 2) return bad("has too many parts");
  if (parts.size() == 2) {
    if (!parts[1].starts_with('/'))
      return bad("has a second part that is neither an absolute path nor a mode");
    dir.guest_path = parts[1];
  }
  TRY(dir.path, absolute(parts[0]));
  return dir;
}

Result<Resources> resources_from(const Args& args) {
  Resources resources;
  if (const auto text = args.find("memory")) {
    TRY(resources.memory_mb, parse_mib("memory", *text));
  }
  if (const auto text = args.find("disk")) {
    TRY(resources.disk_mb, parse_mib("disk", *text));
  }
  if (const auto text = args.find("cpus")) {
    TRY(resources.cpu, parse_number<double>("cpus", *text));
  }
  if (const auto text = args.find("pids")) {
    TRY(resources.pids, parse_number<int64_t>("pids", *text));
  }
  if (const auto text = args.find("cpu-weight")) {
    TRY(resources.cpu_weight, parse_number<int64_t>("cpu-weight", *text));
  }
  if (args.has("dedicated")) resources.sharing = Sharing::dedicated;
  return resources;
}

Result<SandboxAsked> sandbox_from(const Args& args) {
  SandboxAsked asked;
  WireCreate& request = asked.request;
  request.driver = args.find("driver");
  request.run_mode = args.find("run-mode");
  if (args.given("driver") && args.given("run-mode")) {
    return usage_error("--run-mode: --driver says already where")
        .with_hint("leave one of them out");
  }
  if (const auto text = args.find("strategy")) {
    TRY(request.strategy, parse_enum<policy::Strategy>("strategy", *text));
  }
  request.profile = args.find("profile");
  if (request.profile && *request.profile != policy::kNoProfile) {
    const auto fine = policy::parse_profile_reference(*request.profile);
    if (!fine) return usage_error("--profile: " + fine.error().message());
  }
  if (const auto text = args.find("placement")) {
    TRY(request.placement, parse_enum<Placement>("placement", *text));
  }
  for (const std::string& text : args.all("driver-label")) {
    const auto labels = policy::parse_driver_labels(text);
    if (!labels) return usage_error("--driver-label: " + labels.error().message());
    if (!request.driver_labels) request.driver_labels.emplace();
    request.driver_labels->insert(labels->begin(), labels->end());
  }
  request.name = args.find("name");
  if (const auto text = args.find("min-isolation")) {
    TRY(request.min_isolation, parse_enum<Isolation>("min-isolation", *text));
  }
  if (const auto text = args.find("ttl")) {
    TRY(request.ttl_s, parse_seconds("ttl", *text));
  }
  if (const auto text = args.find("idle")) {
    TRY(request.idle_s, parse_seconds("idle", *text));
  }
  if (const auto text = args.find("queue-timeout")) {
    const auto time = parse_duration(*text);
    if (!time) return usage_error("--queue-timeout: " + time.error().message());
    request.queue_timeout_ms = time->count();
  }
  // Of run it has no time: the sandbox stays.
  if (const auto text = args.find("keep"); text && !text->empty()) {
    TRY(request.keep_s, parse_seconds("keep", *text));
  }
  if (const auto text = args.find("on-expire")) {
    TRY(request.on_expire, parse_enum<OnEnd>("on-expire", *text));
  }
  if (const auto text = args.find("on-idle")) {
    TRY(request.on_idle, parse_enum<OnEnd>("on-idle", *text));
  }
  if (const auto text = args.find("on-failure")) {
    TRY(request.on_failure, parse_enum<OnFailure>("on-failure", *text));
  }
  TRY(auto labels, labels_from(args));
  TRY(const auto resources, resources_from(args));
  TRY_OK(check(request.name, labels, resources));
  if (!labels.empty()) request.labels = std::move(labels);
  if (resources != Resources{}) request.resources = resources;
  if (const auto path = args.find("rootfs")) {
    TRY(request.rootfs, absolute(*path));
  }
  request.template_ = args.find("template");
  if (request.template_) {
    const auto fine = parse_template_reference(*request.template_);
    if (!fine)
      return usage_error("--template: " + fine.error().message()).with_hint(fine.error().hint());
  }
  request.image = args.find("image");
  if (const auto text = args.find("pull")) {
    TRY(request.pull, parse_enum<Pull>("pull", *text));
  }
  request.runtime = args.find("runtime");
  if (args.has("persistent")) request.persistence = Persistence::persistent;
  if (const auto text = args.find("persistence")) {
    TRY(request.persistence, parse_enum<Persistence>("persistence", *text));
  }
  if (const auto text = args.find("lifecycle")) {
    TRY(request.lifecycle, parse_enum<Life>("lifecycle", *text));
  }
  if (const auto text = args.find("checkpoint")) {
    TRY(request.checkpoint, parse_enum<SnapshotKind>("checkpoint", *text));
    if (args.given("persistence") && request.persistence != Persistence::checkpoint)
      return usage_error("--checkpoint: it takes --persistence checkpoint");
    request.persistence = Persistence::checkpoint;
  }
  if (const auto text = args.find("network")) {
    TRY(request.network, parse_enum<Network>("network", *text));
  }
  request.snapshot = args.find("snapshot");
  for (const std::string& text : args.all("volume")) {
    TRY(auto dir, parse_volume(text));
    if (!request.host_dirs) request.host_dirs.emplace();
    request.host_dirs->push_back(std::move(dir));
  }
  if (const auto mode = args.find("here")) {
    TRY(asked.here, parse_here(*mode));
  }
  return asked;
}

}  // namespace atl::cli
