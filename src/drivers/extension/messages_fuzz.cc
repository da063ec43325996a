// Whatever an extension or a manifest says: it is understood or refused, and what is understood is
// within the limits that the rest relies on.
#include <cstdlib>
#include <string>

#include "base/ids.h"
#include "drivers/extension/manifest.h"
#include "drivers/extension/messages.h"
#include "drivers/extension/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace atl;
  using namespace atl::extension;
  const std::string_view text(reinterpret_cast<const char*>(data), size);

  const auto hello = parse_hello(text);
  Claim granted;
  granted.placement = Placement::own;
  if (hello) {
    const auto both = meet(granted, hello->capabilities);
    if (both && to_capabilities(*both, Isolation::process).isolation > granted.isolation)
      std::abort();
  }
  if (const auto list = parse_list(text)) {
    for (const auto& one : list->sandboxes) {
      if (!is_sandbox_id(one.id)) std::abort();
    }
  }
  if (const auto event = parse_event(text); event && !is_sandbox_id(event->ended)) std::abort();
  (void)parse_open(text);
  if (const auto done = parse_done(text); !done && done.error().message().size() > 8192)
    std::abort();

  const auto manifest = parse_manifest(text, "fuzz.yaml", {"native"});
  if (!manifest) return 0;
  if (manifest->name == "native" || !is_extension_name(manifest->name)) std::abort();
  const auto usual = complete(manifest->configuration, json::Value());
  // What was completed is complete.
  if (usual && !complete(manifest->configuration, *usual)) std::abort();
  return 0;
}
