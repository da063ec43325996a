#include "app/serve.h"

#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "api/cors.h"
#include "app/drivers.h"
#include "app/listen_address.h"
#include "app/programs.h"
#include "app/state_directory.h"
#include "app/wiring.h"
#include "base/event.h"
#include "base/run_task.h"
#include "cli/target.h"
#include "native/launcher_client.h"
#include "net/http_server.h"
#include "os/service_manager.h"
#include "telemetry/log.h"

namespace atl::app {
namespace {

using telemetry::log_info;
using telemetry::log_warn;

// Descriptors are what a daemon runs out of first: several per sandbox and per client.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Large blocks come from the system and go back to it. Left alone, the allocator learns to keep
// ever larger ones, and the heap of a daemon that lives for months fills with holes.
void give_large_blocks_back() {
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
  mallopt(M_TRIM_THRESHOLD, 256 * 1024);
}

void ignore_signal(int number) {
  struct sigaction action{};
  action.sa_handler = SIG_IGN;
  sigaction(number, &action, nullptr);
}

// Whoever asks first decides how the daemon ends; a second signal does not wait.
class StopRequest final {
 public:
  explicit StopRequest(asio::io_context& loop)
      : signals_(loop, SIGINT, SIGTERM), asked_(loop.get_executor()) {
    listen();
  }

  void ask(Ending ending) {
    if (asked_.fired()) return;
    ending_ = ending;
    asked_.fire();
  }

  Task<Ending> wait() {
    CO_TRY_OK(co_await asked_.wait());
    co_return ending_;
  }

 private:
  void listen() {
    signals_.async_wait([this](const boost::system::error_code& failure, int number) {
      if (failure) return;
      if (asked_.fired()) _exit(128 + number);
      log_info(number == SIGINT ? "stopping; sandboxes end" : "stopping; sandboxes stay",
               {{"signal", number}});
      ask(number == SIGINT ? Ending::end_sandboxes : Ending::leave_sandboxes);
      listen();
    });
  }

  asio::signal_set signals_;
  Event asked_;
  Ending ending_ = Ending::leave_sandboxes;
};

Result<std::unique_ptr<native::LauncherClient>> find_launcher(asio::io_context& loop,
                                                              const StateDirectory& state,
                                                              const DaemonUser& user,
                                                              const std::string& service) {
  if (!service.empty()) return native::LauncherClient::served(loop.get_executor(), service);
  TRY(auto libexec, find_libexec());
  return native::LauncherClient::kept(loop.get_executor(), {.run_directory = state.file("run"),
                                                            .libexec = std::move(libexec),
                                                            .uid = user.uid,
                                                            .gid = user.gid});
}

// The launcher keeps the rights that this process gives up, so it has to be there before.
Result<std::unique_ptr<native::LauncherClient>> start_launcher(asio::io_context& loop,
                                                               const StateDirectory& state,
                                                               const DaemonUser& user,
                                                               const std::string& service) {
  TRY(auto launcher, find_launcher(loop, state, user, service));
  auto greeted = run_task(loop, launcher->hello());
  if (!greeted) return std::move(greeted).error().with("starting the launcher");
  return launcher;
}

// A start that is bound to fail must not leave a new state directory behind. Where there is one
// already, who holds it is the better thing to tell, and opening it comes first.
Result<> check_first_start(const ListenAddress& listen, const std::string& state_directory) {
  if (listen.address.empty() || access(state_directory.c_str(), F_OK) == 0) return {};
  auto free = net::check_tcp_address(listen.address, listen.port);
  if (!free) return std::move(free).error().with_hint(kOtherAddress);
  return {};
}

void tell_ready(const ListenAddress& listen, const StateDirectory& state, const DaemonUser& user) {
  const std::string socket = state.file(cli::kSocketName);
  const std::string key_file = state.file(cli::kKeyFileName);
  const std::string url = listen.address.empty() ? "none" : url_of(listen);
  log_info("ready", {{"address", url},
                     {"socket", socket},
                     {"key_file", key_file},
                     {"user", user.name},
                     {"pid", static_cast<int64_t>(getpid())},
                     {"version", ATOLL_VERSION}});
  if (!listen.address.empty() && !listen.is_loopback()) {
    log_warn("the API is reachable from other hosts without TLS; keys travel in clear",
             {{"address", url}});
  }
}

// The key itself stays out of logs.
void tell_first_steps(const ListenAddress& listen, const StateDirectory& state) {
  const std::string here = "atoll run --state " + state.path() + " -- echo hello";
  if (listen.address.empty()) {
    log_info("this is the first start; try it with: " + here);
    return;
  }
  log_info("this is the first start; the API's key is in the file admin.key",
           {{"try", here},
            {"over_http", "export ATOLL_URL=" + url_of(listen) + " ATOLL_API_KEY=$(cat " +
                              state.file(cli::kKeyFileName) + ")"}});
}

// One that does not hear it will say so itself, when its patience is at an end.
void tell_service_manager(std::string_view what) {
  if (auto told = os::tell_service_manager(what); !told) log_warn(told.error().message());
}

// Also lets what was told to stop come to its end while everything that it uses is still there.
Result<> stop_daemon(asio::io_context& loop, Daemon& daemon, Ending ending) {
  auto stopped = run_task(loop, daemon.stop(ending));
  loop.restart();
  loop.poll();
  if (!stopped) return std::move(stopped).error().with("stopping");
  return {};
}

}  // namespace

Result<> serve(cli::ServeOptions options) {
  ignore_signal(SIGPIPE);
  ignore_signal(SIGHUP);
  raise_descriptor_limit();
  give_large_blocks_back();
  TRY(ListenAddress listen, parse_listen(options.listen));
  OtlpTarget otlp{std::move(options.otlp_url), std::move(options.otlp_headers)};
  TRY_OK(check_otlp_target(otlp));
  if (!options.policy.url.empty()) TRY_OK(policy::check_opa(options.policy));
  TRY(const DaemonUser user, find_daemon_user(options.user));
  if (options.launcher.empty()) TRY_OK(find_libexec());
  TRY_OK(check_first_start(listen, options.state_directory));
  for (const auto& origin : options.origins) TRY_OK(api::check_origin(origin));
  const auto others =
      options.local_users ? StateDirectory::Others::may_pass : StateDirectory::Others::stay_out;
  TRY(const StateDirectory state, StateDirectory::open(options.state_directory, user, others));

  asio::io_context loop(1);
  StopRequest stop(loop);
  TRY(const auto launcher, start_launcher(loop, state, user, options.launcher));
  if (user.uid == 0) {
    log_warn(
        "running as root; make a user for the daemon: useradd --system --no-create-home atoll");
  }
  // Root may have added them before the daemon's own user had anything here.
  auto extensions = find_extensions(state.path());
  TRY_OK(become(user));

  // Where another unit is the launcher, only drivers over engines need it.
  const auto libexec = find_libexec();
  TRY(AdminKey key, state.admin_key());
  TRY(const auto daemon,
      Daemon::create(
          loop.get_executor(), *launcher,
          {.database = state.file("atoll.db"),
           .templates = state.file("templates"),
           .admin_key = std::move(key.text),
           .forget_admin_key = [&state] { return state.forget_admin_key(); },
           .socket = state.file(cli::kSocketName),
           .address = listen.address,
           .port = listen.port,
           .most_parked = options.most_parked,
           .engine_directory = state.file("engines"),
           .agent = libexec ? *libexec + "/atoll-agent" : std::string(),
           .extensions = std::move(extensions),
           .local_users = options.local_users,
           .requests_per_s = static_cast<double>(options.requests_per_s),
           .engine = {.default_ttl = options.default_ttl,
                      .longest_ttl = options.longest_ttl,
                      .most_sandboxes = options.most_sandboxes,
                      .most_sandboxes_per_tenant = options.sandboxes_per_tenant,
                      .most_history = options.most_history,
                      // Commands of weaker drivers are the daemon's own user.
                      .members_floor = geteuid() == 0 ? Isolation::container : Isolation::process,
                      .profiles = std::move(options.profiles),
                      .admission = std::move(options.admission),
                      .routing = std::move(options.routing)},
           .policy = std::move(options.policy),
           .origins = std::move(options.origins),
           .otlp = std::move(otlp),
           .on_shutdown = [&stop](Ending ending) { stop.ask(ending); }}));
  auto started = run_task(loop, daemon->start());
  if (!started) {
    // What was taken up stays as it is for a daemon that can serve it.
    static_cast<void>(stop_daemon(loop, *daemon, Ending::leave_sandboxes));
    return started;
  }
  listen.port = daemon->port();
  tell_ready(listen, state, user);
  if (key.is_new) tell_first_steps(listen, state);
  tell_service_manager("READY=1");

  TRY(const Ending ending, run_task(loop, stop.wait()));
  tell_service_manager("STOPPING=1");
  TRY_OK(stop_daemon(loop, *daemon, ending));
  log_info("stopped", {{"sandboxes", ending == Ending::end_sandboxes ? "ended" : "left running"}});
  return {};
}

}  // namespace atl::app
