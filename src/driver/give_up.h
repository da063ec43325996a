// GiveUp: whoever wanted what is being made no longer wants it.
//
// What takes its time, like fetching an image, listens while it is under way, and ends with
// Code::cancelled; what is quick may come to its end, and whoever gave up destroys it. Lives on the
// core loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace atl {

class GiveUp final {
 public:
  bool is_given_up() const { return is_given_up_; }

  void give_up() {
    is_given_up_ = true;
    for (const auto& [number, tell] : std::exchange(listeners_, {})) tell();
  }

  // While it lives the listener is told, once; at once when it is given up already.
  class Listening final {
   public:
    Listening(std::shared_ptr<GiveUp> to, std::function<void()> tell) : to_(std::move(to)) {
      if (!to_) return;
      if (to_->is_given_up_) {
        tell();
        return;
      }
      number_ = ++to_->last_;
      to_->listeners_.emplace(number_, std::move(tell));
    }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;
    ~Listening() {
      if (to_) to_->listeners_.erase(number_);
    }

   private:
    std::shared_ptr<GiveUp> to_;  // null = nobody can give up
    uint64_t number_ = 0;
  };

 private:
  bool is_given_up_ = false;
  uint64_t last_ = 0;
  std::map<uint64_t, std::function<void()>> listeners_;
};

inline bool is_given_up(const std::shared_ptr<GiveUp>& asked) {
  return asked && asked->is_given_up();
}

}  // namespace atl
