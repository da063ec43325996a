// Creator::find_made: what was made for the same key or name before, or is being made now.
#include "core/creator.h"

namespace atl {

Task<std::optional<SandboxView>> Creator::find_made(const Caller& caller,
                                                    const CreateRequest& request,
                                                    const std::optional<Idempotency>& idempotency) {
  if (idempotency) {
    CO_TRY(auto by_key, co_await find_by_key(caller, *idempotency));
    if (by_key) co_return by_key;
  }
  if (request.name.empty()) co_return std::optional<SandboxView>();
  const auto named = parts_.sandboxes.find_name(caller.tenant, request.name);
  if (!named) co_return std::optional<SandboxView>();
  if (!sees(caller, *named)) {
    co_return Error(Code::already_exists, "the name " + request.name + " is taken")
        .with_hint("use another name");
  }
  if (const auto differing = differences(*named, request); !differing.empty()) {
    co_return Error(
        Code::already_exists,
        "the name " + request.name + " is taken by a sandbox that differs in: " + differing)
        .with_hint("use another name, or destroy " + named->id + " first");
  }
  const bool is_ending = named->state == State::stopping ||
                         (named->destruction && named->is_kept() && named->is_dozing_off);
  if (is_ending) {
    co_return Error(Code::conflict, "sandbox " + request.name + " is being ended")
        .with_hint("try again in a moment");
  }
  std::optional<SandboxView> view;
  if (idempotency) {
    CO_TRY(auto key, parts_.idempotency.remember(caller, *idempotency, named->id));
    CO_TRY(view, co_await join_with_key(named, std::move(key)));
  } else {
    CO_TRY(view, co_await join(named));
  }
  view->was_there = true;
  co_return view;
}

// Nobody else's: what is in it may be anything. What those left who shared a sandbox is for those
// who share the next, and what somebody left who had it alone is not, whatever it was called.
Result<std::string> Creator::find_checkpoint(const Caller& caller,
                                             const CreateRequest& request) const {
  const bool is_asked = request.persistence == Persistence::checkpoint && !request.name.empty() &&
                        request.snapshot.empty();
  if (!is_asked || parts_.sandboxes.find_name(caller.tenant, request.name)) return std::string();
  const auto newest = parts_.snapshots.find_checkpoint(caller.tenant, request.name);
  if (!newest) return std::string();
  const SnapshotView& view = newest->view;
  const bool is_theirs = view.is_shared && is_for_all(request.scope);
  if (is_theirs || sees(caller, view.tenant, view.owner, view.id)) return view.id;
  return Error(Code::already_exists, "the name " + request.name +
                                         " is taken: somebody else's sandbox has left a " +
                                         "checkpoint under it")
      .with_hint("use another name");
}

Task<std::optional<SandboxView>> Creator::find_by_key(const Caller& caller,
                                                      const Idempotency& idempotency) {
  CO_TRY(const auto id, parts_.idempotency.find(caller, idempotency));
  if (!id) co_return std::optional<SandboxView>();
  if (const auto found = joining_keys_.find({caller.tenant, idempotency.key});
      found != joining_keys_.end()) {
    const auto joint = found->second;
    CO_TRY_OK(co_await joint->done.wait());
    if (joint->failure) co_return *joint->failure;
  }
  if (const auto live = parts_.sandboxes.find(*id)) {
    if (!sees(caller, *live)) {
      co_return Error(Code::idempotency_mismatch, "this idempotency key came with another request")
          .with_hint("use a new key for a new request");
    }
    CO_TRY(auto view, co_await join(live));
    co_return std::optional(std::move(view));
  }
  // Whoever asks wants a sandbox to work with; one that has ended would look like success.
  co_return Error(Code::conflict, "sandbox " + *id + ", which this idempotency key made, has ended")
      .with_hint("use a new Idempotency-Key to make another one");
}

// From now on the key means the sandbox that was there under the name: whoever comes with it again
// gets that one, and no other when it has ended.
Task<SandboxView> Creator::join_with_key(RecordPtr record, store::IdempotencyRow key) {
  const auto joint = std::make_shared<Joint>(parts_.executor);
  const std::pair name(key.tenant, key.key);
  joining_keys_[name] = joint;
  auto joined = co_await join(record);
  Result<> noted;
  if (joined) noted = co_await parts_.journal.note(record, {store::PutIdempotency{key}});
  if (!noted) joined = std::move(noted).error();
  if (!joined) parts_.idempotency.forget(key);
  joining_keys_.erase(name);
  joint->end(joined ? Result<>() : joined.error());
  co_return joined;
}

Task<SandboxView> Creator::join(RecordPtr record) {
  const auto creation = record->creation;
  CO_TRY_OK(co_await creation->done.wait());
  if (creation->failure) co_return *creation->failure;
  // Whether there is anything is not known before its driver answers.
  const bool is_unsettled = record->awaits_driver || record->interrupted;
  if (is_unsettled && record->state != State::running && record->state != State::paused &&
      record->state != State::stopped) {
    co_return Error(Code::unavailable, "the creation of sandbox " + record->id +
                                           " was interrupted, and driver " + record->driver +
                                           " does not answer yet")
        .with_hint("try again in a moment");
  }
  const bool is_ending = record->destruction && record->is_kept() && record->is_dozing_off;
  if (record->state == State::stopping || is_ending) {
    co_return Error(Code::conflict, "sandbox " + record->id + " is being stopped or ended")
        .with_hint("try again in a moment");
  }
  co_return record->view();
}

}  // namespace atl
