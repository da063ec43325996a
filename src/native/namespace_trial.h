// Trying what a sandbox needs of the kernel, in a child that ends at once.
//
// Settings that forbid namespaces have many names, and some let the namespace be made and take its
// powers away (AppArmor). Only trying tells.
#pragma once

#include <cstdint>
#include <string>

namespace atl::native {

// In the order in which they are tried. Those up to `mounts` need each other.
enum class TrialStep : uint8_t {
  user_namespace,
  id_map,
  namespaces,  // mount, pid, ipc, uts, network
  mounts,      // a tmpfs in the new mount namespace
  overlay,
  loopback,  // `lo` goes up in the new network namespace
};
constexpr int kTrialSteps = 6;

struct NamespaceTrial {
  // Zero where it worked; what was not tried has ECANCELED.
  int failure[kTrialSteps] = {};

  int failure_of(TrialStep step) const { return failure[static_cast<int>(step)]; }
  // The namespaces can be made and used.
  bool works() const;
  // The first step that did not; only if !works().
  TrialStep broken_step() const;
};

std::string describe(TrialStep step);

NamespaceTrial try_namespaces();

}  // namespace atl::native
