// `atoll doctor --bundle FILE`: what somebody who helps needs to see, and nothing that is secret.
#include <fmt/core.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "api/object_writer.h"
#include "cli/doctor.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/report.h"
#include "cli/sandbox_list.h"
#include "cli/scrubber.h"
#include "cli/tar_writer.h"
#include "native/launcher_protocol.h"
#include "os/file.h"

namespace atl::cli {
namespace {

constexpr size_t kMostOfAFile = size_t{4} << 20;
constexpr size_t kMostOfALog = size_t{256} << 10;

constexpr std::string_view kReadme =
    R"text(Diagnostics of Atoll, made by `atoll doctor --bundle`.

doctor.txt, doctor.json  what the host offers, what each driver makes of it, what repairs the rest
version.txt              of this program, and of the daemon if one answered
kernel.txt               name and version of the kernel and of the distribution
mounts.txt               what is mounted where
cgroup.txt               control groups: where this program is, which controllers there are
sysctl.txt               the settings that matter to sandboxes
launcher.log             the end of the launcher's log, if there is one
metrics.txt, drivers.json, sandboxes.json
                         of the daemon, if one answered: counts, drivers, and for each sandbox its
                         id, state, driver, limits and times

Left out: environments, labels, names of users, files, output and commands of sandboxes, keys. Text
was searched for secrets besides, and they were replaced by "(left out)". It still tells names of
directories and hosts: read it before you send it.
)text";

constexpr const char* kSettings[] = {
    "user/max_user_namespaces",
    "kernel/unprivileged_userns_clone",
    "kernel/apparmor_restrict_unprivileged_userns",
    "kernel/pid_max",
    "kernel/threads-max",
    "kernel/osrelease",
    "kernel/yama/ptrace_scope",
    "kernel/unprivileged_bpf_disabled",
    "kernel/perf_event_paranoid",
    "kernel/keys/maxkeys",
    "kernel/keys/maxbytes",
    "kernel/random/entropy_avail",
    "fs/file-max",
    "fs/nr_open",
    "fs/inotify/max_user_instances",
    "fs/inotify/max_user_watches",
    "net/core/somaxconn",
    "vm/overcommit_memory",
    "vm/max_map_count",
    "vm/swappiness",
};

std::string read_text(const std::string& path) {
  auto text = os::read_file(AT_FDCWD, path, kMostOfAFile);
  return text ? *std::move(text) : "(" + text.error().message() + ")\n";
}

std::string with_title(const std::string& path) { return "== " + path + "\n" + read_text(path); }

std::string kernel_text() {
  utsname name{};
  std::string text;
  if (uname(&name) == 0) {
    text = fmt::format("{} {} {} {}\n", name.sysname, name.release, name.version, name.machine);
  }
  return text + with_title("/etc/os-release") + with_title("/sys/kernel/security/lsm");
}

std::string cgroup_text() {
  return with_title("/proc/self/cgroup") + with_title("/proc/cgroups") +
         with_title("/sys/fs/cgroup/cgroup.controllers") +
         with_title("/sys/fs/cgroup/cgroup.subtree_control");
}

std::string settings_text() {
  std::string text;
  for (const char* name : kSettings) {
    const auto value = os::read_file(AT_FDCWD, std::string("/proc/sys/") + name, 4'096);
    text += fmt::format("{} = {}", name, value ? *value : "(not there)\n");
  }
  return text;
}

// What a sandbox is, without what its owner put in: no name, no labels, no user.
std::string sandboxes_text(const json::Array& sandboxes) {
  std::string out = "[";
  for (const json::Value& sandbox : sandboxes) {
    if (out.size() > 1) out += ",\n";
    api::ObjectWriter object(out);
    for (const char* field :
         {"id", "state", "driver", "isolation", "placement", "profile", "resources", "created_at",
          "expires_at", "last_active_at", "failure", "stages"}) {
      const json::Value& value = at(sandbox, field);
      if (!value.is_null()) object.member(field, value);
    }
    object.close();
  }
  return out + "]\n";
}

class Bundle final {
 public:
  explicit Bundle(Scrubber scrubber)
      : scrubber_(std::move(scrubber)),
        archive_(system_clock().wall().time_since_epoch().count() / 1'000) {}

  Result<> add(const std::string& name, std::string_view text) {
    return archive_.add("atoll-doctor/" + name, scrubber_.scrub(text));
  }
  std::string finish() { return archive_.finish(); }

 private:
  Scrubber scrubber_;
  TarWriter archive_;
};

Result<> add_daemon(Bundle& bundle, Client& client) {
  const auto text_of = [&](const char* path) {
    auto text = client.get(path);
    return text ? *std::move(text) : text.error().message();
  };
  TRY_OK(bundle.add("metrics.txt", text_of("/metrics")));
  TRY_OK(bundle.add("drivers.json", text_of("/v1/drivers")));
  const auto sandboxes = fetch_sandboxes(client);
  return bundle.add("sandboxes.json",
                    sandboxes ? sandboxes_text(*sandboxes) : sandboxes.error().message());
}

std::string launcher_log(const std::string& state) {
  auto log = os::read_file(AT_FDCWD, state + "/run/" + native::kLauncherLog, kMostOfAFile);
  if (!log) return "";
  return log->size() > kMostOfALog ? log->substr(log->size() - kMostOfALog) : *log;
}

Result<> save(const std::string& path, std::string_view bytes) {
  const size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::string directory = slash == std::string::npos ? "."
                                : slash == 0               ? "/"
                                                           : path.substr(0, slash);
  if (name.empty() || name == "." || name == "..") return usage_error("--bundle: no file is named");
  TRY(const auto folder, os::open_at(AT_FDCWD, directory, O_PATH | O_DIRECTORY));
  return os::replace_file(folder.get(), name, bytes, 0600);
}

}  // namespace

Result<int> write_bundle(Context& context, const std::string& path) {
  const bool compressed = path.ends_with(".gz") || path.ends_with(".tgz");
  if (!compressed && !path.ends_with(".tar")) {
    return usage_error("--bundle: the file's name ends in .tar.gz, .tgz or .tar");
  }
  Scrubber scrubber;
  scrubber.add_environment(environ);
  std::string state;
  if (const auto found = state_directory_from(context.args, find_variable)) state = *found;
  if (const auto key =
          os::read_file(AT_FDCWD, state + "/" + std::string(kKeyFileName), size_t{4} << 10)) {
    scrubber.add_secret(*key);
  }

  std::unique_ptr<SandboxRunner> runner;
  const DoctorReport report = examine(context, runner);
  Client* const client = runner ? runner->client() : nullptr;
  Bundle bundle(std::move(scrubber));
  TRY_OK(bundle.add("README.txt", kReadme));
  TRY_OK(bundle.add("doctor.txt", to_text(report, Paint::plain)));
  TRY_OK(bundle.add("doctor.json", to_json(report) + "\n"));
  std::string versions = "atoll " ATOLL_VERSION "\n";
  if (client != nullptr) {
    const auto daemon = client->get("/v1/version");
    versions += "daemon " + (daemon ? *daemon : daemon.error().message()) + "\n";
  }
  TRY_OK(bundle.add("version.txt", versions));
  TRY_OK(bundle.add("kernel.txt", kernel_text()));
  TRY_OK(bundle.add("mounts.txt", read_text("/proc/self/mountinfo")));
  TRY_OK(bundle.add("cgroup.txt", cgroup_text()));
  TRY_OK(bundle.add("sysctl.txt", settings_text()));
  if (const std::string log = launcher_log(state); !log.empty()) {
    TRY_OK(bundle.add("launcher.log", log));
  }
  if (client != nullptr) TRY_OK(add_daemon(bundle, *client));

  std::string bytes = bundle.finish();
  if (compressed) {
    TRY(bytes, to_gzip(bytes));
  }
  TRY_OK(save(path, bytes));
  if (context.json()) {
    std::string out;
    api::ObjectWriter object(out);
    object.member("ok", true);
    object.member("file", path);
    object.member("bytes", bytes.size());
    object.close();
    TRY_OK(print(out + "\n"));
  } else if (!context.quiet()) {
    TRY_OK(print(path + "\n"));
    tell("atoll: read it before you send it: tar tf " + path);
  }
  return 0;
}

}  // namespace atl::cli
