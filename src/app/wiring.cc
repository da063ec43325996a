#include "app/wiring.h"

#include <unistd.h>

#include "api/api.h"
#include "api/v1/sandbox_wire.h"
#include "app/drivers.h"
#include "base/event.h"
#include "core/keys.h"
#include "native/launcher_client.h"
#include "net/http_server.h"
#include "store/sqlite_store.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "template/templates.h"

namespace atl::app {
namespace {

constexpr std::chrono::seconds kDrainPatience{5};
// For the spans of the last moment.
constexpr Millis kExportPatience{2'000};

}  // namespace

// In the order of dependence: each member uses only those above it.
struct Daemon::Impl {
  Impl(asio::any_io_executor where, native::LauncherClient& used, DaemonParts options,
       std::unique_ptr<store::Store> opened, std::unique_ptr<Templates> found)
      : executor(std::move(where)),
        launcher(used),
        parts(std::move(options)),
        store(std::move(opened)),
        templates(std::move(found)),
        keys(*store, system_clock()),
        engine(executor, *store,
               make_drivers(executor, launcher, parts.most_parked,
                            {.directory = parts.engine_directory, .agent = parts.agent},
                            parts.extensions),
               metrics, system_clock(), engine_options()),
        api(engine, keys, metrics, tracer, system_clock(), api_options()),
        server(executor, api) {}

  // Sandboxes may be made ahead here, from templates, too.
  EngineOptions engine_options() {
    EngineOptions options = parts.engine;
    options.pooling = Pooling::on;
    options.layers = KeepLayers::yes;
    options.open_template = [this](CreateRequest& request, const std::string& name) {
      return api::v1::open_template(request, name, templates.get());
    };
    options.reopen_template = [this](CreateRequest& request, const std::string& id) {
      return api::v1::reopen_template(request, id, *templates);
    };
    options.has_template = [this](const std::string& id) { return templates->has(id); };
    return options;
  }

  api::ApiOptions api_options() {
    api::ApiOptions options;
    options.version = ATOLL_VERSION;
    options.visitors.trusted_uid = geteuid();
    if (parts.local_users) options.visitors.local_users = api::LocalUsers::members;
    options.token_secret = parts.admin_key;
    options.requests = {parts.requests_per_s, 2 * parts.requests_per_s};
    options.origins = parts.origins;
    options.templates = templates.get();
    options.readiness = [this] { return readiness(); };
    options.on_shutdown = parts.on_shutdown;
    options.connections = [this] { return server.stats().connections; };
    options.spans_to_export = [this] { return exporter ? exporter->queued() : 0; };
    return options;
  }

  ~Impl() { tracer.set_sink(nullptr); }

  // Knows which store it speaks for only once that is read.
  Result<> start_export() {
    if (parts.otlp.url.empty()) return {};
    TRY(auto transport, make_otlp_transport(executor, parts.otlp));
    exporter = std::make_unique<telemetry::SpanExporter>(
        executor, std::move(transport), metrics,
        telemetry::ExportOptions{.resource = {.service_name = "atoll",
                                              .service_version = ATOLL_VERSION,
                                              .instance_id = engine.instance_id()}});
    tracer.set_sink(exporter.get());
    return {};
  }

  Task<> finish_export() {
    if (!exporter) co_return Result<>();
    auto finished = co_await exporter->finish(kExportPatience);
    if (!finished) {
      telemetry::log_warn("spans are left that the collector did not take",
                          {{"why", finished.error().message()}});
    }
    co_return Result<>();
  }

  Result<> readiness() const {
    if (ready) return {};
    return Error(Code::unavailable, "still taking up sandboxes");
  }

  asio::any_io_executor executor;
  native::LauncherClient& launcher;
  DaemonParts parts;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<Templates> templates;
  telemetry::Metrics metrics;
  telemetry::Tracer tracer{system_clock()};
  std::unique_ptr<telemetry::SpanExporter> exporter;  // null without a collector
  Keys keys;
  Engine engine;
  api::Api api;
  net::HttpServer server;
  uint16_t port = 0;
  bool ready = false;
};

Daemon::Daemon(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Daemon::~Daemon() = default;

uint16_t Daemon::port() const { return impl_->port; }

Result<std::unique_ptr<Daemon>> Daemon::create(asio::any_io_executor executor,
                                               native::LauncherClient& launcher,
                                               DaemonParts parts) {
  auto store = store::SqliteStore::open(executor, parts.database);
  if (!store) return std::move(store).error().with("opening the store");
  if (!parts.policy.url.empty()) {
    TRY(parts.engine.judge, policy::make_opa(executor, system_clock(), parts.policy));
  }
  TRY(auto templates, Templates::open(executor, {.directory = parts.templates}, system_clock()));
  return std::unique_ptr<Daemon>(new Daemon(std::make_unique<Impl>(
      std::move(executor), launcher, std::move(parts), std::move(*store), std::move(templates))));
}

Task<> Daemon::start() {
  Impl& impl = *impl_;
  CO_TRY_OK(co_await impl.keys.load());
  CO_TRY_OK(co_await impl.keys.ensure_admin(impl.parts.admin_key, impl.parts.forget_admin_key));
  auto recovered = co_await impl.engine.recover();
  if (!recovered) co_return std::move(recovered).error().with("taking up sandboxes");
  CO_TRY_OK(impl.start_export());
  impl.templates->start_collecting(
      [&engine = impl.engine](const std::string& path) { return engine.has_root(path); },
      [&engine = impl.engine] { engine.forget_templates(); });
  impl.ready = true;

  CO_TRY_OK(impl.server.listen_unix(impl.parts.socket, impl.parts.local_users ? 0666 : 0600));
  if (impl.parts.address.empty()) co_return Result<>();
  auto port = impl.server.listen_tcp(impl.parts.address, impl.parts.port);
  if (!port) {
    co_return std::move(port).error().with_hint(kOtherAddress);
  }
  impl.port = *port;
  co_return Result<>();
}

Task<> Daemon::stop(Ending ending) {
  Impl& impl = *impl_;
  impl.ready = false;
  // Or whoever waits for a turn would hold up the end of the calls.
  impl.engine.close_admission();
  const auto deadline = std::chrono::steady_clock::now() + kDrainPatience;
  if (ending == Ending::leave_sandboxes) {
    auto drained = co_await impl.server.drain(deadline);
    if (!drained) telemetry::log_info("calls were cut off; what they started goes on");
    impl.templates->stop();
    auto left = co_await impl.engine.shut_down(ending);
    CO_TRY_OK(co_await impl.finish_export());
    co_return left;
  }

  // Calls that wait for a command end with its sandbox, so both go on at once.
  Event over(impl.executor);
  spawn(impl.executor, impl.server.drain(deadline), [over](Result<>) mutable { over.fire(); });
  auto ended = co_await impl.engine.shut_down(ending);
  if (impl.parts.most_parked > 0 && !impl.engine.has_kept()) {
    // Those that were made ahead would end with us, only later. What could not be kept stays.
    auto parked = co_await impl.launcher.end_all();
    if (!parked) {
      telemetry::log_warn("the launcher does not end what is left",
                          {{"why", parked.error().message()}});
    }
  }
  CO_TRY_OK(co_await over.wait());
  impl.templates->stop();
  CO_TRY_OK(co_await impl.finish_export());
  co_return ended;
}

}  // namespace atl::app
