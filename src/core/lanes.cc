#include "core/lanes.h"

namespace atl {

void Lanes::add(const BatchPtr& batch, const std::string& lane, const std::string& id, Work work) {
  if (stopping_ || !ids_.insert(id).second) return;
  ++batch->left;
  Lane& own = lanes_[lane];
  own.line.push_back({id, std::move(work), batch});
  go_on(own);
}

void Lanes::go_on(Lane& lane) {
  const auto owner = owner_.lock();
  while (owner && lane.under_way < at_once_ && !lane.line.empty()) {
    Job job = std::move(lane.line.front());
    lane.line.pop_front();
    ++lane.under_way;
    auto work = job.work();
    spawn(executor_, std::move(work),
          [this, owner, &lane, id = std::move(job.id), batch = job.batch](const Result<>& ended) {
            ids_.erase(id);
            --lane.under_way;
            go_on(lane);
            end_one(*batch, ended);
          });
  }
}

void Lanes::end_one(Batch& batch, const Result<>& ended) {
  if (!ended && !batch.failure) batch.failure = ended.error();
  if (--batch.left == 0 && batch.is_awaited) batch.all_ended.fire();
}

Task<> Lanes::wait_for(BatchPtr batch, Millis most) {
  batch->is_awaited = true;
  if (batch->left > 0) {
    auto waited = co_await batch->all_ended.wait_for(most);
    if (!waited && waited.error().code() != Code::deadline_exceeded) co_return waited;
  }
  if (batch->failure) co_return *batch->failure;
  co_return Result<>();
}

Task<> Lanes::wait(BatchPtr batch) {
  batch->is_awaited = true;
  if (batch->left > 0) CO_TRY_OK(co_await batch->all_ended.wait());
  if (batch->failure) co_return *batch->failure;
  co_return Result<>();
}

void Lanes::stop() {
  stopping_ = true;
  for (auto& [name, lane] : lanes_) {
    for (const Job& job : std::exchange(lane.line, {})) {
      ids_.erase(job.id);
      end_one(*job.batch, {});
    }
  }
}

}  // namespace atl
