#include "core/admission.h"

#include "core/admission_state_internal.h"

namespace atl {

using policy::Amounts;

Place& Place::operator=(Place&& other) noexcept {
  leave();
  state_ = std::exchange(other.state_, nullptr);
  tenant_ = std::exchange(other.tenant_, nullptr);
  kept_ = std::exchange(other.kept_, {});
  has_turn_ = std::exchange(other.has_turn_, false);
  is_making_ = std::exchange(other.is_making_, false);
  return *this;
}

void Place::settle() {
  if (state_) state_->settle(*this);
}

void Place::made() {
  if (!state_) return;
  state_->made(*this);
  state_->serve();
}

void Place::leave() {
  if (const auto state = std::exchange(state_, nullptr)) state->leave(*this);
}

Admission::Admission(asio::any_io_executor executor, const Clock& clock,
                     telemetry::Metrics& metrics, SandboxTable& sandboxes, EventLog& events,
                     const EngineOptions& options)
    : state_(std::make_shared<AdmissionState>(std::move(executor), clock, metrics, sandboxes,
                                              events, options)) {}

// Places outlive it; what they are given back to must not look at what has gone.
Admission::~Admission() { state_->is_closed = true; }

Amounts Admission::amounts_of(const Resources& resources) const {
  return policy::amounts_of(resources, state_->settings.quotas.assumed);
}

Result<std::optional<Place>> Admission::try_enter(const std::string& tenant,
                                                  const Amounts& amounts) {
  return state_->try_enter(tenant, amounts);
}

Task<Place> Admission::wait(Ask ask) {
  const auto state = state_;
  const auto stop = ask.stop;
  if (stop && stop->stopped()) co_return Error(Code::cancelled, "nobody waits for it any more");
  CO_TRY(const auto number, state->enqueue(std::move(ask)));
  const auto waiter = state->waiters.at(number);
  const auto leave = [weak = std::weak_ptr(state), number] {
    const auto there = weak.lock();
    if (!there) return;
    if (there->waiters.contains(number)) there->metrics.admissions.at("left").add();
    there->send_away(number, Error(Code::cancelled, "nobody waits for it any more"));
    there->serve();
  };
  // Whoever else is told of it is told, too.
  const auto former = stop ? std::exchange(stop->on_stop_, nullptr) : nullptr;
  if (stop) {
    stop->on_stop_ = [leave, former] {
      leave();
      if (former) former();
    };
  }
  // Its turn may have come with somebody's who was sent away for it.
  state->serve();
  auto woken = co_await waiter->called.wait();
  if (stop) stop->on_stop_ = stop->stopped() ? nullptr : former;
  if (waiter->refused) co_return *waiter->refused;
  if (waiter->place) co_return std::move(*waiter->place);
  leave();
  co_return Error(Code::cancelled, "nobody waits for it any more");
}

Result<> Admission::check_room(const std::string& tenant, const Amounts& more) const {
  if (state_->is_closed) return shutting_down();
  TRY_OK(state_->check_quota(state_->tenant_of(tenant), more));
  const auto shortage = find_shortage(state_->host, state_->sandboxes.used() + state_->kept, more);
  if (!shortage) return {};
  AdmissionObstacle obstacle{"this host " + shortage->words(), to_refusal(*shortage, "host_")};
  obstacle.refusal.retry_after = state_->retry_after(1);
  return to_error(std::move(obstacle), "destroy some, or ask for less");
}

Result<Place> Admission::keep_free(const std::string& tenant, const Amounts& more) {
  TRY_OK(check_room(tenant, more));
  return state_->keep(state_->tenant_of(tenant), more);
}

Result<> Admission::take_creates(const std::string& tenant, size_t count) {
  return state_->take_creates(state_->tenant_of(tenant), count);
}

void Admission::on_freed(const std::string& tenant) {
  if (state_->is_closed) return;
  state_->tenant_of(tenant).ends.note(state_->clock.boot());
  if (state_->queue.size() > 0) state_->serve();
}

void Admission::serve() { state_->serve(); }

void Admission::step() { state_->step(); }

void Admission::close() { state_->close(); }

std::optional<SandboxView> Admission::find(const Caller& caller,
                                           std::string_view id_or_name) const {
  const auto number = state_->find(caller, id_or_name);
  if (!number) return std::nullopt;
  SandboxView view = state_->waiters.at(*number)->ask.view;
  view.queue_position = state_->queue.position(*number);
  return view;
}

bool Admission::send_away(const Caller& caller, std::string_view id_or_name) {
  const auto number = state_->find(caller, id_or_name);
  if (!number) return false;
  const std::string id = state_->waiters.at(*number)->ask.view.id;
  state_->send_away(*number,
                    Error(Code::conflict, "sandbox " + id + " was destroyed while it waited"));
  state_->serve();
  return true;
}

TenantUse Admission::use_of(const std::string& tenant) const {
  TenantUse use{.quota = state_->quota_of(tenant), .used = state_->sandboxes.used_by(tenant)};
  if (const auto found = state_->tenants.find(tenant); found != state_->tenants.end()) {
    use.used += found->second->kept;
    use.at_once = found->second->at_once;
  }
  use.waiting = state_->queue.size_of(tenant);
  return use;
}

size_t Admission::waiting() const { return state_->queue.size(); }

}  // namespace atl
