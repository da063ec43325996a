// KernelTrials: whether a runtime of an engine really puts another kernel between its containers
// and the host's. Its name proves nothing.
//
// A container with the runtime tells which kernel it is in (agent/kernel_view.h), and so does one
// with the engine's own. Where a container has the service's runtime and no other (podman), this
// process tells of the kernel outside, which must be the engine's. gVisor's kernel is a sentry;
// another boot of another kernel is a virtual machine; whatever else there is shares the host's. A
// verdict holds as long as the engine defines the runtime as it did, and every sandbox looks once
// more: see BoxFacts::outer_kernel.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/event.h"
#include "container/container_sandbox.h"
#include "driver/capabilities.h"

namespace atl::container {

struct KernelView {
  std::string name;  // release and version
  std::string boot;  // "" = it has no id
  bool is_gvisor = false;
};
// Code::internal for what no agent says.
Result<KernelView> parse_kernel_view(std::string_view text);

struct KernelVerdict {
  Isolation isolation = Isolation::container;
  std::string why;           // it is no more than that; "" = it is
  std::string outer_kernel;  // of the engine's host, if there is another one inside
  bool is_untried = false;   // nobody knows: its containers may have a kernel of their own
};

// An image with nothing in it, for containers of trials of this kind, "kernel" for example; it goes
// with the trial.
Task<std::string> get_trial_image(std::shared_ptr<Fleet> fleet, std::string kind);
Task<> drop_trial_image(std::shared_ptr<Fleet> fleet, std::string kind);
// Those that were left when somebody who made trials died, of whoever is_ended() says that of by
// their kLabelInstance.
Task<> drop_left_trial_images(std::shared_ptr<Fleet> fleet,
                              std::function<bool(const std::string& instance)> is_ended);
// Runtimes that are known to share the host's kernel.
bool shares_the_kernel(std::string_view runtime);
// The engine's own if it is such a one, otherwise another of its; "" = it has none.
std::string find_plain_runtime(const EngineFacts& facts);
// The kernel of this process, if it is the one that the engine says it has.
Result<KernelView> view_of_host(const EngineFacts& facts);
KernelVerdict judge_kernel(const KernelView& own, const KernelView& seen);
// Declares the runtime as what it was found to be, and what it does not protect.
void add_runtime(Capabilities& can, const std::string& name, const KernelVerdict& verdict);

class KernelTrials final : public std::enable_shared_from_this<KernelTrials> {
 public:
  explicit KernelTrials(std::shared_ptr<Fleet> fleet) : fleet_(std::move(fleet)) {}

  // Tries it if need be, beside `plain`, one that shares the host's kernel ("" = there is none, or
  // it cannot be picked); one at a time. Those that are known to share it are not tried.
  Task<KernelVerdict> judge(EngineFacts::Runtime runtime, std::string plain);
  // The same of one that is asked for. Code::not_found for what the engine does not have,
  // Code::unsupported for what it would not take.
  Task<KernelVerdict> judge_named(std::string name);

  // The ids that containers of trials under way have: nobody's sandboxes.
  const std::set<std::string>& under_way() const { return under_way_; }

 private:
  struct Known {
    std::string definition;
    KernelVerdict verdict;
    // A trial that came to nothing is made again after a while; otherwise it stands.
    std::optional<std::chrono::steady_clock::time_point> until;
  };

  const KernelVerdict* find_known(const EngineFacts::Runtime& runtime) const;
  Task<KernelVerdict> try_runtime(std::string runtime, std::string plain);
  Task<KernelView> look(std::string runtime);
  Task<std::string> ask_container(std::string id, std::string runtime);

  std::shared_ptr<Fleet> fleet_;
  std::map<std::string, Known> known_;
  std::set<std::string> under_way_;
  std::shared_ptr<Event> busy_;  // null = nobody tries
};

}  // namespace atl::container
