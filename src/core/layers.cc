#include "core/layers.h"

#include "core/hooks.h"
#include "core/pool_shape.h"
#include "json/describe.h"
#include "telemetry/log.h"

namespace atl {
namespace {

using policy::Layer;

// What this start leaves behind that is worth keeping.
Layer kind_of(const policy::Startup& startup) {
  const bool installs = startup.dependencies && !startup.dependencies->is_empty();
  const Layer asked = startup.layer.value_or(Layer::dependencies);
  if (asked == Layer::setup && (installs || has_hooks(startup.setup))) return Layer::setup;
  return asked != Layer::none && installs ? Layer::dependencies : Layer::none;
}

Task<> take(Parts& parts, RecordPtr record, SnapshotPtr layer) {
  CO_TRY(DriverSlot * slot, parts.drivers.get_ready(record->driver));
  const auto handle = record->handle;
  SnapshotRequest request{layer->view.id, SnapshotKind::disk, layer->view.home};
  CO_TRY(const auto facts, co_await slot->driver->snapshot(*handle, std::move(request)));
  // Half of what was installed is worse than nothing.
  if (facts.left_out > 0) {
    co_return Error(Code::unsupported, std::to_string(facts.left_out) + " files are not in it");
  }
  co_return co_await parts.snapshots.finish(std::move(layer), facts);
}

}  // namespace

Layering choose_layer(Parts& parts, const std::string& tenant, const CreateRequest& request,
                      const DriverSlot& slot) {
  Layering layering;
  const Layer kind = request.startup ? kind_of(*request.startup) : Layer::none;
  if (kind == Layer::none) return layering;
  layering.driver = slot.name();
  const std::string shape = shape_of(request, Sizes::left_out);
  if (parts.options.layers == KeepLayers::no) {
    layering.why_not = "without a daemon nothing is kept";
  } else if (!slot.capabilities->snapshot) {
    layering.why_not = slot.name() + " keeps no layers";
  } else if (shape.empty()) {
    layering.why_not = "the request brings files, directories or a snapshot of its own";
  } else {
    layering.kind = kind;
    layering.key = print_of(shape + std::string(json::name_of(kind)));
    layering.from = parts.snapshots.use_layer(tenant, slot.name(), layering.key);
  }
  return layering;
}

Task<std::string> keep_layer(Parts& parts, RecordPtr record, std::string key) {
  auto begun = co_await parts.snapshots.begin_layer(*record, std::move(key));
  if (!begun) co_return "not kept: " + begun.error().message();
  const SnapshotPtr layer = *std::move(begun);
  if (!layer) co_return "not kept: another sandbox has just made it, or is about to";
  auto taken = co_await take(parts, record, layer);
  if (taken) co_return "kept as layer " + layer->view.id;
  telemetry::log_warn("a layer could not be kept",
                      {{"sandbox", record->id}, {"why", taken.error().message()}});
  const auto dropped = co_await parts.snapshots.drop(layer);
  static_cast<void>(dropped);  // what is left of it the sweeper drops
  co_return "not kept: " + taken.error().message();
}

}  // namespace atl
