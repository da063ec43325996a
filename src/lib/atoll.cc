#include "lib/atoll.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>

#include <algorithm>
#include <limits>

#include "app/programs.h"
#include "core/batch.h"
#include "core/request_check.h"
#include "json/describe.h"
#include "lib/engine_thread.h"
#include "os/file.h"

namespace libatoll {

// Sandboxes hold it, too, and find no engine once the host is gone.
struct Host::Impl {
  std::unique_ptr<EngineThread> engine;

  EngineThread& here() const {
    if (!engine) throw Error("unavailable", "the host of this sandbox is gone", "");
    if (!engine->is_here()) {
      throw Error("conflict", "this process was forked from the one that has the host",
                  "make a libatoll::Host after fork()");
    }
    return *engine;
  }
};

namespace {

constexpr size_t kMostAtOnce = 256;

using atl::CreateRequest;
using atl::Engine;
using atl::ExecRequest;
using atl::ExecResult;
using atl::Result;
using atl::RunResult;
using atl::Task;

[[noreturn]] void raise(const atl::Error& error) {
  throw Error(std::string(atl::to_string(error.code())), error.message(), error.hint());
}

template <typename T>
T must(Result<T> result) {
  if (!result) raise(result.error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

template <typename T>
T call(EngineThread& engine, std::function<Task<T>(Engine&)> make) {
  return must(engine.call<T>(std::move(make)));
}

// Beside the library, as installed.
std::string find_libexec(const std::string& named) {
  if (!named.empty()) return must(atl::app::check_libexec(named));
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&raise), &info) == 0) return must(atl::app::find_libexec());
  const std::unique_ptr<char, decltype(&free)> path(realpath(info.dli_fname, nullptr), &free);
  return must(path ? atl::app::find_libexec(path.get()) : atl::app::find_libexec());
}

atl::HostAccess to_access(Access access) {
  switch (access) {
    case Access::read_only:
      return atl::HostAccess::ro;
    case Access::read_write:
      return atl::HostAccess::rw;
    case Access::copy_on_write:
      return atl::HostAccess::cow;
  }
  return atl::HostAccess::ro;
}

Result<atl::HostDirectory> open_directory(const Directory& asked) {
  TRY(auto directory, atl::os::open_at(AT_FDCWD, asked.host_path, O_PATH | O_DIRECTORY));
  return atl::HostDirectory{.directory = std::move(directory),
                            .host_path = asked.host_path,
                            .guest_path = asked.path.empty() ? asked.host_path : asked.path,
                            .access = to_access(asked.access)};
}

Result<CreateRequest> to_request(const Settings& settings) {
  CreateRequest request;
  request.driver = settings.driver;
  request.env = settings.env;
  request.warm = settings.warm;
  if (!settings.min_isolation.empty()) {
    request.min_isolation = atl::json::find_enum<atl::Isolation>(settings.min_isolation);
    if (!request.min_isolation) {
      return atl::Error(atl::Code::invalid_argument, "min_isolation: there is no such level")
          .with_hint("none, process, container, sentry, vm");
    }
  }
  auto& resources = request.resources;
  const auto whole = [](size_t count) {
    return static_cast<int64_t>(std::min<size_t>(count, std::numeric_limits<int64_t>::max()));
  };
  if (settings.memory_mb != 0) resources.memory_mb = whole(settings.memory_mb);
  if (settings.disk_mb != 0) resources.disk_mb = whole(settings.disk_mb);
  if (settings.cpus != 0) resources.cpu = settings.cpus;
  if (settings.pids != 0) resources.pids = settings.pids;
  for (const auto& directory : settings.directories) {
    TRY(auto opened, open_directory(directory));
    request.mounts.push_back(std::move(opened));
  }
  return request;
}

ExecRequest to_exec(const Command& command) {
  ExecRequest exec;
  exec.argv = command.argv;
  exec.env = command.env;
  exec.cwd = command.cwd;
  exec.timeout = command.timeout;
  exec.cpu_time = command.cpu_time;
  if (!command.warm) exec.warm = atl::Warmth::refused;
  return exec;
}

Outcome to_outcome(ExecResult result) {
  const auto& status = result.status;
  return {.exit_code = status.exit_code,
          .signal = status.signal,
          .reason = std::string(atl::json::name_of(status.reason)),
          .out = std::move(result.out),
          .err = std::move(result.err),
          .truncated = result.truncated,
          .warm = status.warm,
          .duration = status.duration,
          .cpu = status.usage.cpu_user + status.usage.cpu_system,
          .peak_memory_bytes = status.usage.peak_memory_bytes};
}

// One that has died before it could be handed over leaves both stages: another was made instead.
bool was_made_ahead(const std::vector<atl::Stage>& stages) {
  const auto has = [&](std::string_view name) {
    return std::ranges::count(stages, name, &atl::Stage::name) > 0;
  };
  return has("hand_over") && !has("create");
}

Outcome to_outcome(RunResult result) {
  Outcome outcome = to_outcome(std::move(result.exec));
  outcome.made_ahead = was_made_ahead(result.stages);
  outcome.driver = std::move(result.driver);
  outcome.isolation = atl::json::name_of(result.isolation);
  return outcome;
}

// What run_all() is asked for, and what came of it.
class Batch final : public atl::BatchRuns {
 public:
  Batch(std::vector<Command> commands, Settings settings)
      : commands_(std::move(commands)),
        settings_(std::move(settings)),
        outcomes_(commands_.size()) {}

  size_t size() const override { return commands_.size(); }
  Result<atl::BatchRun> make(size_t index) override {
    const Command& command = commands_[index];
    TRY(auto sandbox, to_request(settings_));
    return atl::BatchRun{std::move(sandbox), to_exec(command), command.input, command.keep};
  }
  Task<> take(size_t index, int /*attempts*/, Result<RunResult> result) override {
    if (result) {
      outcomes_[index] = to_outcome(*std::move(result));
    } else {
      outcomes_[index].exit_code = 125;
      outcomes_[index].reason = "infra";
      outcomes_[index].code = atl::to_string(result.error().code());
      outcomes_[index].err = result.error().message();
    }
    co_return Result<>();
  }
  std::vector<Outcome> outcomes() && { return std::move(outcomes_); }

 private:
  std::vector<Command> commands_;
  Settings settings_;
  std::vector<Outcome> outcomes_;
};

Task<ExecResult> execute(Engine& engine, std::string id, ExecRequest exec, std::string input,
                         size_t keep) {
  CO_TRY_OK(atl::check_exec(exec));
  CO_TRY(auto completed, engine.complete({}, id, std::move(exec)));
  CO_TRY(const auto guest, co_await engine.use({}, id));
  co_return co_await exec_collect(*guest, std::move(completed), std::move(input), keep);
}

Task<> write_file(Engine& engine, std::string id, std::string path, std::string bytes,
                  unsigned mode) {
  CO_TRY(const auto guest, co_await engine.use({}, id));
  CO_TRY(const auto writer,
         co_await guest->open_write(std::move(path), mode, atl::Parents::create));
  CO_TRY_OK(co_await writer->write(std::move(bytes)));
  CO_TRY_OK(co_await writer->commit());
  co_return Result<>();
}

Task<std::string> read_file(Engine& engine, std::string id, std::string path, size_t most) {
  constexpr size_t kPiece = 256 * 1024;
  CO_TRY(const auto guest, co_await engine.use({}, id));
  CO_TRY(const auto reader, co_await guest->open_read(path));
  std::string all;
  for (;;) {
    CO_TRY(const auto piece, co_await reader->read(all.size(), kPiece));
    if (piece.empty()) co_return all;
    if (piece.size() > most - all.size()) {
      co_return atl::Error(atl::Code::too_large,
                           path + " is longer than " + std::to_string(most) + " bytes");
    }
    all += piece;
  }
}

}  // namespace

Host::Host(const Options& options)
    : impl_(std::make_shared<Impl>(must(EngineThread::create(
          {.libexec = find_libexec(options.libexec), .most_parked = options.parked})))) {}
Host::~Host() { impl_->engine.reset(); }

Host& Host::shared() {
  static Host host;
  return host;
}

Outcome Host::run(const Command& command, const Settings& settings) {
  auto request = must(to_request(settings));
  return to_outcome(call<RunResult>(impl_->here(), [&](Engine& engine) {
    return engine.run({}, std::move(request), to_exec(command), command.input, command.keep);
  }));
}

std::vector<Outcome> Host::run_all(std::vector<Command> commands, std::size_t at_once,
                                   const Settings& settings) {
  if (commands.empty()) return {};
  const auto batch = std::make_shared<Batch>(std::move(commands), settings);
  call<void>(impl_->here(), [&](Engine& engine) {
    return run_batch(engine, {}, batch, {.at_once = std::clamp<size_t>(at_once, 1, kMostAtOnce)},
                     std::make_shared<atl::BatchStop>());
  });
  return std::move(*batch).outcomes();
}

Sandbox::Sandbox(const Settings& settings, Host& host) : host_(host.impl_) {
  auto request = must(to_request(settings));
  auto view = call<atl::SandboxView>(host_->here(), [&](Engine& engine) {
    return engine.create({}, std::move(request), std::nullopt);
  });
  id_ = std::move(view.id);
  driver_ = std::move(view.driver);
  isolation_ = atl::json::name_of(view.isolation);
  made_ahead_ = was_made_ahead(view.stages);
}

Sandbox::~Sandbox() { end(); }

Sandbox::Sandbox(Sandbox&& other) noexcept
    : host_(std::move(other.host_)),
      id_(std::exchange(other.id_, {})),
      driver_(std::exchange(other.driver_, {})),
      isolation_(std::exchange(other.isolation_, {})),
      made_ahead_(std::exchange(other.made_ahead_, false)) {}

Sandbox& Sandbox::operator=(Sandbox&& other) noexcept {
  if (this == &other) return *this;
  end();
  host_ = std::move(other.host_);
  id_ = std::exchange(other.id_, {});
  driver_ = std::exchange(other.driver_, {});
  isolation_ = std::exchange(other.isolation_, {});
  made_ahead_ = std::exchange(other.made_ahead_, false);
  return *this;
}

void Sandbox::end() noexcept {
  if (id_.empty()) return;
  const auto& engine = host_->engine;
  if (!engine || !engine->is_here()) return;
  static_cast<void>(engine->call<void>([&](Engine& on) { return on.destroy({}, id_); }));
  id_.clear();
}

const std::string& Sandbox::own_id() const {
  if (id_.empty()) throw Error("conflict", "this sandbox was moved from", "");
  return id_;
}

Outcome Sandbox::run(const Command& command) {
  const std::string& id = own_id();
  Outcome outcome = to_outcome(call<ExecResult>(host_->here(), [&](Engine& engine) {
    return execute(engine, id, to_exec(command), command.input, command.keep);
  }));
  outcome.driver = driver_;
  outcome.isolation = isolation_;
  outcome.made_ahead = made_ahead_;
  return outcome;
}

void Sandbox::write(const std::string& path, const std::string& bytes, unsigned mode) {
  const std::string& id = own_id();
  call<void>(host_->here(),
             [&](Engine& engine) { return write_file(engine, id, path, bytes, mode); });
}

std::string Sandbox::read(const std::string& path, std::size_t most) {
  const std::string& id = own_id();
  return call<std::string>(host_->here(),
                           [&](Engine& engine) { return read_file(engine, id, path, most); });
}

}  // namespace libatoll
