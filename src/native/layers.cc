#include "native/layers.h"

#include "base/text.h"

namespace atl::native {
namespace {

constexpr std::string_view kNames[kLayers] = {
    "user_namespace",    "mount_namespace",   "pid_namespace", "ipc_namespace", "uts_namespace",
    "cgroup_namespace",  "network_namespace", "root",          "proc_masks",    "capabilities",
    "no_new_privileges", "seccomp",           "landlock",      "rlimits",       "cgroups",
    "descriptors",       "file_api",
};

}  // namespace

std::string_view to_string(Layer layer) { return kNames[static_cast<int>(layer)]; }

Result<LayerSet> parse_layers(std::string_view text) {
  LayerSet layers;
  for (const auto& name : split(text, ',')) {
    if (name.empty()) continue;
    int found = -1;
    for (int i = 0; i < kLayers; ++i) {
      if (kNames[i] == name) found = i;
    }
    if (found < 0) {
      return Error(Code::invalid_argument, "no layer is called '" + to_printable(name) + "'");
    }
    layers.add(static_cast<Layer>(found));
  }
  return layers;
}

}  // namespace atl::native
