#include "tests/support/driver_world.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "drivers/extension/extension_driver.h"
#include "drivers/registry.h"
#include "os/file.h"
#include "tests/support/host_census.h"
#include "tests/support/products.h"
#include "tests/support/root_tree.h"

namespace atl::test {
namespace {

constexpr auto kLook = std::chrono::milliseconds(2);
constexpr auto kLeavePatience = std::chrono::seconds(15);

bool is_launcher(const CountedProcess& process) {
  return process.command.starts_with("atoll-launcher ");
}

// One that has a name with an engine elsewhere has made it already.
Result<> make_place(const std::string& path) {
  auto made = os::make_directory(AT_FDCWD, path, 0700);
  if (!made && made.error().os_errno() != EEXIST) return made;
  return {};
}

}  // namespace

Result<std::unique_ptr<DriverWorld>> DriverWorld::open(std::string_view name) {
  std::unique_ptr<DriverWorld> world(new DriverWorld(std::string(name)));
  TRY_OK(world->connect());
  // As the first snapshot, or the first sandbox, would leave them.
  TRY_OK(make_place(world->root_ / "engines"));
  if (getenv(kTestEngine) != nullptr) TRY_OK(make_place(world->root_ / "engines/" + world->name_));
  // After that: a trial of an engine needs them, too.
  TRY(world->can_, world->run(world->driver_->probe()));
  // By which an extension knows us.
  if (world->name_ == kExtension) TRY_OK(world->run(world->driver_->list()));
  if (world->can_.needs_root_dir) {
    TRY_OK(os::make_directory(AT_FDCWD, world->root_tree(), 0755));
    TRY_OK(make_root_tree(world->root_tree()));
  }
  return world;
}

Task<std::unique_ptr<Sandbox>> DriverWorld::create(SandboxSpec spec) {
  if (can_.needs_root_dir && !spec.root) {
    HostDirectory root;
    CO_TRY(root.directory, os::open_at(AT_FDCWD, root_tree(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    root.host_path = root_tree();
    root.guest_path = "/";
    root.access = HostAccess::cow;
    spec.root = std::move(root);
  }
  co_return co_await driver_->create(std::move(spec));
}

Result<> DriverWorld::connect() {
  native::KeptLauncher options{run_directory(), libexec_directory(), getuid(), getgid()};
  TRY(launcher_, native::LauncherClient::kept(loop_.get_executor(), std::move(options)));
  TRY(driver_, make_driver());
  driver_->set_listener(this);
  return {};
}

Result<std::unique_ptr<Driver>> DriverWorld::make_driver() {
  const std::string agent = libexec_directory() + "/atoll-agent";
  if (name_ == kExtension) {
    const char* const state = getenv(kTestExtension);
    if (state == nullptr) return Error(Code::unavailable, "tests/support/extension.py starts it");
    auto read = extension::read_grants(state, drivers::reserved_names());
    if (read.grants.empty()) return Error(Code::unavailable, "no extension was added");
    return extension::make_extension_driver(loop_.get_executor(),
                                            {.grant = std::move(read.grants.front()),
                                             .identity = root_ / "engines/identity",
                                             .agent = agent});
  }
  const auto entries = drivers::all();
  const auto entry = std::ranges::find(entries, name_, &drivers::Entry::name);
  if (entry == entries.end()) return Error(Code::not_found, "no driver " + name_);
  drivers::Context context{loop_.get_executor(), launcher_.get()};
  context.engines = {.directory = root_ / "engines", .agent = agent};
  return entry->make(context);
}

void DriverWorld::disconnect() {
  driver_.reset();
  launcher_.reset();
  // Whatever still reads sees the end of its connection and leaves.
  run_until([] { return false; }, std::chrono::seconds(2));
}

Result<> DriverWorld::restart() {
  disconnect();
  TRY_OK(connect());
  TRY(can_, run(driver_->probe()));
  return {};
}

// What a case that failed has left in an engine; the launcher ends its own.
void DriverWorld::empty_engine() {
  auto kept = run(driver_->list_snapshots());
  for (const auto& id : kept ? *kept : std::vector<std::string>()) {
    const auto dropped = run(driver_->drop_snapshot(id));
    std::fprintf(stderr, "left behind: snapshot %s%s\n", id.c_str(),
                 dropped ? "" : ", still there");
  }
  auto left = run(driver_->list());
  for (const auto& id : left ? *left : std::vector<std::string>()) {
    if (auto destroyed = run(driver_->destroy_orphan(id)); !destroyed)
      std::fprintf(stderr, "left behind: %s: %s\n", id.c_str(),
                   destroyed.error().message().c_str());
  }
}

DriverWorld::~DriverWorld() {
  if (driver_ && getenv(kTestEngine) != nullptr) empty_engine();
  if (launcher_) {
    if (auto ended = run(launcher_->end_all()); !ended) {
      std::fprintf(stderr, "ending the sandboxes: %s\n", ended.error().message().c_str());
    }
  }
  disconnect();
  if (eventually([&] { return HostCensus::processes_of(root()).empty(); }, kLeavePatience)) return;
  for (const auto& process : HostCensus::processes_of(root())) {
    std::fprintf(stderr, "left behind: %d %s; killing it\n", process.pid, process.command.c_str());
    kill(process.pid, SIGKILL);
  }
}

// Returns early when nothing is left to do.
void DriverWorld::run_until(const std::function<bool()>& ended, Millis most) {
  const auto give_up = std::chrono::steady_clock::now() + most;
  loop_.restart();
  while (!ended() && loop_.run_one_until(give_up) != 0) {
  }
}

bool DriverWorld::eventually(const std::function<bool()>& holds, Millis most) {
  const auto give_up = std::chrono::steady_clock::now() + most;
  for (;;) {
    loop_.restart();
    loop_.poll();
    if (holds()) return true;
    if (std::chrono::steady_clock::now() > give_up) return false;
    const auto next_look = std::chrono::steady_clock::now() + kLook;
    loop_.restart();
    while (loop_.run_one_until(next_look) != 0) {
    }
    const auto left =
        std::chrono::duration_cast<Micros>(next_look - std::chrono::steady_clock::now());
    if (left.count() > 0)
      usleep(static_cast<useconds_t>(left.count()));  // an idle loop returns at once
  }
}

std::optional<EndedBy> DriverWorld::how_ended(std::string_view id) const {
  const auto found = std::ranges::find(ended_, id, &Ended::id);
  if (found == ended_.end()) return std::nullopt;
  return found->why;
}

std::optional<pid_t> DriverWorld::launcher_pid() const {
  const auto ours = HostCensus::processes_of(root());
  for (const auto& process : ours) {
    const auto is_parent = [&](const CountedProcess& other) {
      return other.pid == process.parent && is_launcher(other);
    };
    if (is_launcher(process) && std::ranges::any_of(ours, is_parent)) return process.pid;
  }
  return std::nullopt;
}

}  // namespace atl::test
