// Making sandboxes with namespaces of their own: everything around the clone that child/ carries
// out.
//
// What a client sends are numbers and descriptors. A descriptor of a directory shows that the
// client could open it, and no more: inside, the sandbox's user stands for that client and has
// exactly its rights there (an idmapped mount), whatever rights the launcher has.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "native/cgroup.h"
#include "native/child/box_child.h"
#include "native/id_range.h"
#include "native/landlock.h"
#include "native/launcher/agent_process.h"
#include "native/launcher/clean_networks.h"
#include "native/launcher/record.h"
#include "native/launcher/shared_roots.h"
#include "native/launcher/storage_pool.h"
#include "native/launcher_protocol.h"
#include "native/plan.h"
#include "native/processors.h"

namespace atl::native {

// What a sandbox holds while it lives.
struct MadeBox {
  StartedAgent agent;
  BoxCgroups cgroups;
  IdRange ids;
  Fd network;              // empty unless it may serve another one
  std::string processors;  // that are its own
  uint64_t pool_bytes = 0;
};

struct BoxOrder {
  std::string id;
  BoxRequest request;
  std::vector<Fd> directories;  // [root], then one for each of request.directories
  Identity client;              // on whose behalf
  int program = -1;
  Fd connection, listener, config;  // the agent's
  std::string token;
};

// A sandbox on its way: everything that its launch points at.
struct BoxInMaking {
  BoxOrder order;
  std::shared_ptr<const Plan> plan;
  MadeBox box;
  BoxLaunch launch;
  uid_t agent_outside = 0;
  std::shared_ptr<const SharedRoot> shared_root;
  Fd name_space;
  std::vector<Fd> detached;
  std::vector<std::string> paths;
  std::vector<BoxTree> trees;
  std::optional<LandlockRules> landlock;
  Fd processors, token;
  std::vector<int> joins, work, given;
  std::string hand_down;
  int attempts = 0;
};

class BoxMaker final {
 public:
  // Looks at the host; changes nothing.
  static Result<std::unique_ptr<BoxMaker>> create();
  ~BoxMaker();

  const BoxSupport& support() const { return support_; }
  LayerSet without() const { return without_; }
  // Has to be open before a sandbox is made that asks for it.
  StoragePool& pool() { return pool_; }
  // What is seen of the host is believed for a second, so that it can be looked at ahead.
  const HostView& look_at_host();
  // From where the next sandbox's network is to be made; -1 = there is one, or it needs none.
  int network_to_make() const;
  // Everything up to the start of `launch`, which takes its time and needs nothing of ours.
  Result<std::unique_ptr<BoxInMaking>> begin(BoxOrder order);
  // Once it has been started. True: it was in vain for a reason that has passed, start it again.
  Result<bool> end(BoxInMaking& making, Result<StartedAgent> started);
  // Everything that a sandbox held but its cgroups.
  Result<> release(const std::string& id, IdRange& ids, Fd network);
  void adopt(const Record& record);

  // The groups that an earlier launcher made for a sandbox, to be watched over or removed.
  Result<BoxCgroups> find_cgroups(const std::string& id);

 private:
  BoxMaker(CgroupSlice cgroups, LayerSet without);
  Result<> open_once();
  Result<std::shared_ptr<const Plan>> plan_for(const BoxOrder& order);
  Result<> gather_trees(BoxInMaking& making);
  Result<> prepare_launch(BoxInMaking& making);
  void give_up(BoxInMaking& making);
  Result<std::vector<Fd>> detach(const BoxOrder& order, const IdRange& ids, const Fd& own);

  CgroupSlice cgroups_;
  Processors processors_;
  LayerSet without_;
  BoxSupport support_;
  bool opened_ = false;
  Fd id_directory_;
  StoragePool pool_;
  SharedRoots shared_roots_;
  CleanNetworks networks_;
  HostView host_;
  Micros looked_at_{};
  // The last one that was made from this view, which most sandboxes have in common.
  BoxRequest planned_;
  std::shared_ptr<const Plan> plan_;
  std::set<uint32_t> slots_;
  uint32_t first_free_ = 0;  // below it every slot is taken
};

}  // namespace atl::native
