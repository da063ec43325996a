// Lanes: work for many drivers side by side, in a lane for each, so that a driver which hangs holds
// up nobody but itself. In each lane so much is done at a time, and the rest waits in line.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/event.h"
#include "base/task.h"

namespace atl {

class Lanes final {
 public:
  using Work = std::function<Task<>()>;

  // What is waited for together, once all of it was added.
  struct Batch {
    explicit Batch(const asio::any_io_executor& executor) : all_ended(executor) {}

    Event all_ended;
    size_t left = 0;
    bool is_awaited = false;       // so no more comes, and none left is the end
    std::optional<Error> failure;  // the first one
  };
  using BatchPtr = std::shared_ptr<Batch>;

  Lanes(asio::any_io_executor executor, size_t at_once)
      : executor_(std::move(executor)), at_once_(at_once) {}

  // What is begun holds on to this; called before anything else.
  void set_owner(std::weak_ptr<void> owner) { owner_ = std::move(owner); }

  BatchPtr new_batch() const { return std::make_shared<Batch>(executor_); }
  // Begins the work, or lets it wait in line. What is under way or waits already, by its id, is not
  // taken twice, and is not waited for.
  void add(const BatchPtr& batch, const std::string& lane, const std::string& id, Work work);
  // Until all of the batch has ended, for at most so long: what takes longer goes on. The error is
  // the first one that came of it.
  static Task<> wait_for(BatchPtr batch, Millis most);
  static Task<> wait(BatchPtr batch);
  // What waits in line is given up, and nothing more is taken.
  void stop();

 private:
  struct Job {
    std::string id;
    Work work;
    BatchPtr batch;
  };
  struct Lane {
    size_t under_way = 0;
    std::deque<Job> line;
  };

  void go_on(Lane& lane);
  static void end_one(Batch& batch, const Result<>& ended);

  asio::any_io_executor executor_;
  size_t at_once_;
  std::weak_ptr<void> owner_;
  std::map<std::string, Lane> lanes_;
  std::set<std::string> ids_;
  bool stopping_ = false;
};

}  // namespace atl
