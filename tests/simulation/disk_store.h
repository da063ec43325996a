// DiskStore: a store whose disk outlives the daemon, and which fails as disks do.
//
// Transactions are written one after the other in the order of calling, each after a point of the
// schedule; what was not written when the daemon dies is lost, awaited or not. A full disk refuses
// the next few.
#pragma once

#include <deque>
#include <memory>

#include "store/memory_store.h"
#include "tests/simulation/mutant.h"
#include "tests/simulation/schedule.h"
#include "tests/simulation/trace.h"

namespace boost::asio {
class io_context;
}

namespace atl::simulation {

struct Disk {
  Disk();
  ~Disk();

  std::unique_ptr<asio::io_context> nobodys;  // what lies on a disk has no loop
  store::MemoryStore written;
  int refusals = 0;       // so many of the next transactions find no room
  bool is_unmet = false;  // and none of them has come yet
};

class DiskStore final : public store::Store {
 public:
  // All but the executor outlive it.
  DiskStore(asio::any_io_executor executor, Disk& disk, Schedule& schedule, Dice& dice,
            Trace& trace, Mutant mutant);

  Task<store::Contents> load() override { return disk_.written.load(); }
  Task<std::optional<store::SandboxRow>> find_sandbox(std::string id) override;
  Task<> commit(store::Transaction transaction) override;
  void enqueue(store::Transaction transaction, store::OnCommitted on_done) override;

 private:
  struct Item {
    store::Transaction transaction;
    store::OnCommitted on_done;
  };

  Task<> write_all();
  Task<> write(store::Transaction transaction);
  void mutate(store::Transaction& transaction);
  Task<> keep_parked(store::Transaction& transaction);  // awaited at once

  asio::any_io_executor executor_;
  Disk& disk_;
  Schedule& schedule_;
  Dice& dice_;
  Trace& trace_;
  const Mutant mutant_;
  std::deque<Item> queue_;
  bool is_writing_ = false;
};

}  // namespace atl::simulation
