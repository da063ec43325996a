// The hosts of a simulated world: four fake drivers, strong and weak, near and far, that are slow,
// refuse, die and lose answers as the dice say, each at the end of its link.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/engine.h"
#include "driver/fake_driver.h"
#include "tests/simulation/ledger.h"
#include "tests/simulation/link.h"
#include "tests/simulation/mutant.h"
#include "tests/simulation/schedule.h"
#include "tests/simulation/trace.h"

namespace atl::simulation {

// The variable in a sandbox's environment that tells which request made it, and the file in one
// that was made before there was a request.
constexpr const char* kTag = "TAG";
constexpr const char* kTagFile = "/workspace/tag";

class Hosts final {
 public:
  // Everything given outlives the hosts.
  Hosts(Dice& dice, Schedule& schedule, Ledger& ledger, Trace& trace, const Clock& clock,
        Mutant mutant);

  // For a new daemon, over the same hosts.
  std::vector<EngineDriver> drivers(const asio::any_io_executor& executor);
  // No more faults, and all answer.
  void calm_down();

  void kill_one();
  void slow_one_down();
  void cut_one_off();
  // From its next probe on it offers less isolation, or is farther away.
  void narrow_one();
  void bring_all_back();
  // What has outlived its time is ended by its host, which tells or cannot. How many that were.
  int expire(Micros now);
  // Those who wait have died with their daemon.
  void forget_waiters();

  // The box of a sandbox on the host of this name; null when there is none.
  std::shared_ptr<FakeBox> find(const std::string& host, const std::string& id) const;
  FakeHost* find_host(const std::string& name) const;
  // What a host of this name is when it is well.
  Found place_of(const std::string& name) const;
  // The request that made what is there under this id; "" = nothing is there, or it says nothing.
  std::string tag_of(const std::string& id) const;
  std::map<std::string, std::vector<Found>> find_all() const;
  // Sandboxes that more than one host was asked to create.
  uint64_t failovers() const;

 private:
  struct Kind {
    Isolation isolation;
    Placement placement;
  };
  struct Host {
    std::shared_ptr<FakeHost> fake;
    // What it is, whatever it says; what it is when it is well, and says then.
    Kind is;
    Kind well;
    Kind says;
    std::unique_ptr<Link> link;
    bool is_slow = false;
    // Nobody has noticed it yet.
    bool is_dead_unmet = false;
    bool is_slow_unmet = false;
    bool narrows = false;  // and the engine has not been told
    // By id: what it was when it was asked for the sandbox, which that is for good.
    std::map<std::string, Kind> made_as = {};
  };

  Task<> pass(size_t which, std::string step);
  void arrive(size_t which);
  void meet(bool& unmet, Fault fault);
  void tell_narrowing(Host& host, Capabilities& found);
  void mutate(Host& host, const std::string& step);
  void mutate_start();
  void make_elsewhere(Host& host, const std::string& other);
  Found look_at(const Host& host, const FakeBox& box) const;
  void check_new(const Host& host);

  Dice& dice_;
  Schedule& schedule_;
  Ledger& ledger_;
  Trace& trace_;
  const Mutant mutant_;
  std::vector<Host> hosts_;
  // What a mutant has hidden from its driver.
  std::vector<std::pair<size_t, std::shared_ptr<FakeBox>>> hidden_;
  bool is_calm_ = false;
};

}  // namespace atl::simulation
