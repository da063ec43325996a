// Place: the right to make something now, and what is kept free for it until it is counted.
#pragma once

#include <memory>
#include <utility>

#include "policy/quota.h"

namespace atl {

class AdmissionState;
struct AdmissionTenant;

// Given up with its destruction, at any time, also after the engine has gone.
class Place final {
 public:
  Place() = default;
  Place(Place&& other) noexcept { *this = std::move(other); }
  Place& operator=(Place&& other) noexcept;
  ~Place() { leave(); }

  // What was kept free is in the table of sandboxes now.
  void settle();
  // It is made, and others may be made; it stays one of those that its tenant has under way.
  void made();
  void leave();

 private:
  friend class AdmissionState;

  std::shared_ptr<AdmissionState> state_;
  AdmissionTenant* tenant_ = nullptr;
  policy::Amounts kept_;
  bool has_turn_ = false;  // otherwise something is only kept free
  bool is_making_ = false;
};

}  // namespace atl
