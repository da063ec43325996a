// Layers: what the start of a sandbox has installed, kept for the next one that starts alike.
//
// A layer is a snapshot that nobody sees, of a driver that has snapshots, and is found by a hash of
// everything that its making depended on. It is taken before anybody gets the sandbox, so only the
// profile and the request have been at work in it, and both are in the hash. A tenant has its own.
#pragma once

#include "core/parts.h"
#include "policy/startup.h"

namespace atl {

// What becomes of the layer of a sandbox that is about to be made.
struct Layering {
  std::string driver;  // that it is about; "" = there is nothing to keep
  policy::Layer kind = policy::Layer::none;
  std::string key;                                     // "" = none is used, and none is kept
  std::shared_ptr<const SnapshotView> from = nullptr;  // that it begins with; null = it installs
  std::string why_not;                                 // why there is none, in words
};

// Of the request with its profile worked in, for a sandbox of this driver.
Layering choose_layer(Parts& parts, const std::string& tenant, const CreateRequest& request,
                      const DriverSlot& slot);

// Keeps a sandbox that has just installed everything. What came of it, in words: without a layer
// the sandbox is as good, and the next one installs again.
Task<std::string> keep_layer(Parts& parts, RecordPtr record, std::string key);  // awaited at once

}  // namespace atl
