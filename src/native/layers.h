// The layers of the policy, by name: what a plan lists, what `atoll doctor` reports and what each
// attack of the security suite claims to be stopped by.
//
// A sandbox always has every layer that its driver declares. Only programs built with
// ATOLL_WEAKENABLE, which are never installed, let the security suite switch one off, to prove that
// an attack gets through without it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace atl::native {

enum class Layer : uint8_t {
  user_namespace,
  mount_namespace,
  pid_namespace,
  ipc_namespace,
  uts_namespace,
  cgroup_namespace,
  network_namespace,
  root,        // a root of its own: pivoted, read-only, nosuid, nodev
  proc_masks,  // kernel files of /proc are covered
  capabilities,
  no_new_privileges,
  seccomp,
  landlock,
  rlimits,
  cgroups,
  descriptors,  // nothing but stdio is inherited
  file_api,     // paths of the file service are resolved inside the sandbox's root
};
constexpr int kLayers = 17;

std::string_view to_string(Layer layer);

class LayerSet final {
 public:
  constexpr LayerSet() = default;
  constexpr explicit LayerSet(uint32_t bits) : bits_(bits) {}

  constexpr bool has(Layer layer) const { return (bits_ >> static_cast<int>(layer) & 1U) != 0; }
  constexpr void add(Layer layer) { bits_ |= 1U << static_cast<int>(layer); }
  constexpr uint32_t bits() const { return bits_; }
  constexpr bool empty() const { return bits_ == 0; }

 private:
  uint32_t bits_ = 0;
};

// "seccomp,landlock" → the set; an unknown name is an error.
Result<LayerSet> parse_layers(std::string_view text);

// What ATOLL_TEST_WITHOUT switches off in a weakenable program; the empty set in every other.
Result<LayerSet> layers_switched_off();

}  // namespace atl::native
