// The reaper: ends sandboxes whose time to live or idle time is over.
//
// A min-heap of moments at which to look at a sandbox, and one timer. Deadlines are read from the
// record when its moment comes, so being active costs nothing: the reaper looks too early, and
// looks again later.
#pragma once

#include <functional>
#include <map>

#include "base/event.h"
#include "core/sandbox_record.h"

namespace atl {

class Reaper final {
 public:
  using Expire = std::function<void(RecordPtr)>;

  Reaper(asio::any_io_executor executor, const Clock& clock);

  // Called for each sandbox whose deadline has come; it looks again before it acts.
  void set_expire(Expire expire) { expire_ = std::move(expire); }

  // To be called whenever the sandbox's deadline may have come nearer.
  void schedule(const RecordPtr& record);
  // For a sandbox that has ended.
  void forget(SandboxRecord& record);
  // Expires what is due now.
  void step();

  // Steps at the right moments until stop().
  Task<> run();
  void stop();

 private:
  using Moment = std::pair<Micros, std::string>;  // and the id

  asio::any_io_executor executor_;
  const Clock& clock_;
  Expire expire_;
  std::map<Moment, RecordPtr> looks_;
  std::shared_ptr<Event> news_;
  bool stopping_ = false;
};

}  // namespace atl
