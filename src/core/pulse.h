// The pulse: asks each running sandbox now and then whether it is there.
//
// Drivers tell when a sandbox dies; this finds those that live and do not answer. Each is asked for
// something small at most once in EngineOptions::pulse_every. A round asks a third of all, and
// there are three in that time, so whoever is due is asked within twice that time however many
// there are: one that hangs is found after kMostMissed questions in a row. At most kMostAtOnce
// questions are on their way that others wait for; one that is not answered soon is waited for no
// more before the next is asked, and one that has not answered the last question is not asked
// another. Who is found is unresponsive, which its view, the events and the metrics tell; where
// OnFailure::recreate was asked for, it is made anew.
#pragma once

#include "core/parts.h"

namespace atl {

class Pulse final {
 public:
  static constexpr size_t kMostAtOnce = 64;
  static constexpr int kMostMissed = 3;
  static constexpr int kRounds = 3;  // in pulse_every

  explicit Pulse(Parts& parts) : parts_(parts) {}

  // One round: those that were asked longest ago and are due, a third of all or kMostAtOnce if that
  // is more. Returns when all have answered or had
  // EngineOptions::pulse_patience.
  Task<> feel();

  // Rounds until stop().
  Task<> run();
  void stop();

 private:
  std::vector<RecordPtr> choose() const;
  void note_answer(const RecordPtr& record);
  void note_miss(const RecordPtr& record);

  Parts& parts_;
  std::shared_ptr<Event> woken_;
  bool stopping_ = false;
};

}  // namespace atl
