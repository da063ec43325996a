#include "tests/simulation/disk_store.h"

#include <algorithm>

#include <boost/asio/io_context.hpp>

namespace atl::simulation {

Disk::Disk() : nobodys(std::make_unique<asio::io_context>()), written(nobodys->get_executor()) {}
Disk::~Disk() = default;

DiskStore::DiskStore(asio::any_io_executor executor, Disk& disk, Schedule& schedule, Dice& dice,
                     Trace& trace, Mutant mutant)
    : executor_(std::move(executor)),
      disk_(disk),
      schedule_(schedule),
      dice_(dice),
      trace_(trace),
      mutant_(mutant) {}

Task<std::optional<store::SandboxRow>> DiskStore::find_sandbox(std::string id) {
  return disk_.written.find_sandbox(std::move(id));
}

Task<> DiskStore::commit(store::Transaction transaction) {
  Event done(executor_);
  const auto result = std::make_shared<Result<>>();
  enqueue(std::move(transaction), [done, result](Result<> written) mutable {
    *result = std::move(written);
    done.fire();
  });
  CO_TRY_OK(co_await done.wait());
  co_return std::move(*result);
}

void DiskStore::enqueue(store::Transaction transaction, store::OnCommitted on_done) {
  queue_.push_back({std::move(transaction), std::move(on_done)});
  if (is_writing_) return;
  is_writing_ = true;
  spawn(executor_, write_all());
}

Task<> DiskStore::write_all() {
  while (!queue_.empty()) {
    Item item = std::move(queue_.front());
    queue_.pop_front();
    auto written = co_await write(std::move(item.transaction));
    if (item.on_done) item.on_done(std::move(written));
  }
  is_writing_ = false;
  co_return Result<>();
}

Task<> DiskStore::write(store::Transaction transaction) {
  CO_TRY_OK(co_await schedule_.point());
  if (disk_.refusals > 0) {
    --disk_.refusals;
    if (std::exchange(disk_.is_unmet, false)) trace_.count(Fault::store_full);
    co_return Error(Code::out_of_space, "the disk is full");
  }
  mutate(transaction);
  if (mutant_ == Mutant::store_keeps_it_parked) CO_TRY_OK(co_await keep_parked(transaction));
  CO_TRY_OK(co_await disk_.written.commit(std::move(transaction)));
  co_return co_await schedule_.point();
}

Task<> DiskStore::keep_parked(store::Transaction& transaction) {
  CO_TRY(const auto contents, co_await disk_.written.load());
  std::erase_if(transaction.changes, [&](const store::Change& change) {
    const auto* const put = std::get_if<store::PutSandbox>(&change);
    return put != nullptr && std::ranges::any_of(contents.live, [&](const auto& row) {
             return row.id == put->row.id && row.lifecycle == "pooled";
           });
  });
  co_return Result<>();
}

void DiskStore::mutate(store::Transaction& transaction) {
  if (mutant_ == Mutant::store_forgets_a_sandbox && dice_.one_in(20)) {
    std::erase_if(transaction.changes, [](const store::Change& change) {
      return std::holds_alternative<store::PutSandbox>(change);
    });
  }
  if (mutant_ == Mutant::store_forgets_a_session) {
    std::erase_if(transaction.changes, [](const store::Change& change) {
      return std::holds_alternative<store::PutSession>(change);
    });
  }
  if (mutant_ == Mutant::store_keeps_a_session) {
    std::erase_if(transaction.changes, [](const store::Change& change) {
      return std::holds_alternative<store::DropSession>(change);
    });
  }
  if (mutant_ == Mutant::store_forgets_why_it_rests) {
    for (auto& change : transaction.changes) {
      auto* const put = std::get_if<store::PutSandbox>(&change);
      if (put == nullptr) continue;
      for (const std::string_view why : {R"("rest":"idle")", R"("rest":"expired")"}) {
        const size_t at = put->row.spec.find(why);
        if (at != std::string::npos) put->row.spec.replace(at, why.size(), R"("rest":"none")");
      }
    }
  }
  for (auto& change : transaction.changes) {
    auto* const session = std::get_if<store::PutSession>(&change);
    if (session != nullptr && mutant_ == Mutant::session_knows_no_boot)
      session->row.boot_id.clear();
    auto* const sandbox = std::get_if<store::PutSandbox>(&change);
    if (sandbox != nullptr && mutant_ == Mutant::store_forgets_whose_it_is)
      sandbox->row.tenant = "default";
    auto* const put = std::get_if<store::PutIdempotency>(&change);
    if (put == nullptr) continue;
    if (mutant_ == Mutant::key_knows_no_boot) put->row.boot_id.clear();
    if (mutant_ == Mutant::store_forgets_a_key) put->row.key += "-not";
    if (mutant_ == Mutant::key_is_of_another_request) put->row.sandbox = "sbx00000000000000000000";
  }
}

}  // namespace atl::simulation
