#include "tests/simulation/ledger.h"

#include "core/transitions.h"
#include "json/describe.h"

namespace atl::simulation {
namespace {

std::string text(auto value) { return std::string(json::name_of(value)); }

// Over, as far as a client can see.
bool is_over(State state) { return state == State::destroyed; }

}  // namespace

void Ledger::give(const std::string& tag, const std::string& made_by, const SandboxView& view,
                  Micros now) {
  const Asked& asked = asked_.at(tag);
  check_told(tag, view.id, view.isolation, view.placement);
  if (!asked.key.empty()) {
    const std::string& first = of_key_.try_emplace(asked.key, tag).first->second;
    const bool is_of_another =
        first != tag || (!made_by.empty() && made_by != tag && asked_.at(made_by).key == asked.key);
    if (is_of_another) {
      accuse("I5: the key " + asked.key + " came with another request, " + tag +
             ", which was given " + view.id);
    }
    const auto [known, is_new] = keys_.emplace(asked.key, view.id);
    if (!is_new && known->second != view.id) {
      accuse("I5: the key " + asked.key + " gave " + known->second + " and then " + view.id);
    }
  }
  const auto [given, is_new] = given_.try_emplace(view.id);
  if (is_new) {
    const bool is_anothers = !made_by.empty() && made_by != tag &&
                             (asked.name.empty() || asked_.at(made_by).name != asked.name);
    if (is_anothers) accuse("I3: " + view.id + " is " + made_by + "'s and was given to " + tag);
    const Asked& first = made_by.empty() ? asked : asked_.at(made_by);
    given->second.tag = tag;
    given->second.state = view.state;
    given->second.ends_from = first.first_at + first.ttl + first.keep;
    given->second.ends_until = now + first.ttl + first.keep;
    return;
  }
  // The same name and the same key give the same sandbox again; nothing else may.
  const Asked& before = asked_.at(given->second.tag);
  const bool same = given->second.tag == tag || (!asked.name.empty() && before.name == asked.name);
  if (!same) accuse("I3: " + view.id + " was handed out for two requests");
}

void Ledger::check_told(const std::string& tag, const std::string& what, Isolation isolation,
                        Placement placement) {
  const Asked& asked = asked_.at(tag);
  if (isolation < asked.floor) {
    accuse("floor: " + what + " has " + text(isolation) + ", and " + text(asked.floor) +
           " was asked");
  }
  if (placement > asked.placement) {
    accuse("placement: " + what + " is at " + text(placement) + ", and " + text(asked.placement) +
           " was asked");
  }
}

void Ledger::refuse(const std::string& tag, const Error& why, Micros now) {
  const Asked& asked = asked_.at(tag);
  const auto known = keys_.find(asked.key);
  if (known == keys_.end() || !why.message().ends_with("has ended")) return;
  const Given& given = given_.at(known->second);
  if (given.may_be_gone || given.ends_from <= now) return;
  accuse("I5: the key " + asked.key + " gave " + known->second + ", and then: " + why.message());
}

void Ledger::give_child(const std::string& parent, const SandboxView& view, Micros begun,
                        Micros now) {
  const auto [given, is_new] = given_.try_emplace(view.id);
  if (!is_new) {
    accuse("I3: a fork gave " + view.id + ", which was there already");
    return;
  }
  const Asked& asked = asked_.at(given_.at(parent).tag);
  given->second.tag = asked.tag;
  given->second.state = State::running;
  // As its parent was asked to live, or as it was last renewed.
  given->second.ends_from = begun + std::min(asked.ttl, kRenewal);
  given->second.ends_until = now + std::max(asked.ttl, kRenewal) + asked.keep;
}

bool Ledger::may_rest(const Given& given) const {
  const Asked& asked = asked_.at(given.tag);
  return asked.on_expire || asked.on_idle;
}

void Ledger::begin_call(const std::string& id) {
  auto& given = given_.at(id);
  // Whoever comes back after its time gives it more.
  if (asked_.at(given.tag).on_expire) given.ends_until = std::nullopt;
  // Two at a time may come about in either order.
  if (++given.calls > 1) given.state = std::nullopt;
}

void Ledger::end_call(const std::string& id, std::optional<State> acknowledged) {
  auto& given = given_.at(id);
  const bool was_alone = given.calls == 1;
  given.calls = std::max(0, given.calls - 1);
  given.state = was_alone ? acknowledged : std::nullopt;
  given.is_open = !given.state;
}

void Ledger::end_use(const std::string& id, bool was_used) {
  auto& given = given_.at(id);
  const bool was_alone = given.calls == 1;
  given.calls = std::max(0, given.calls - 1);
  const bool is_known = was_alone && was_used && !given.is_open;
  given.state = is_known ? std::optional(State::running) : std::nullopt;
}

void Ledger::begin_renewal(const std::string& id, std::chrono::seconds ttl, Micros now) {
  auto& given = given_.at(id);
  ++given.renewals;
  given.ends_from = std::min(given.ends_from, now + ttl);
}

void Ledger::end_renewal(const std::string& id, const Result<SandboxView>& answer,
                         std::chrono::seconds ttl, Micros begun, Micros now) {
  auto& given = given_.at(id);
  const bool was_alone = given.renewals == 1;
  given.renewals = std::max(0, given.renewals - 1);
  if (!answer && answer.error().code() == Code::cancelled) {
    given.ends_until = std::nullopt;
  } else if (given.ends_until) {
    given.ends_until = std::max(*given.ends_until, now + ttl + asked_.at(given.tag).keep);
  }
  if (!answer || !was_alone || !given.ends_until) return;
  // Its host may have ended it before, and what has failed can be renewed, too.
  if (given.calls == 0 && given.ends_from <= now) given.state = answer->state;
  given.ends_from = begun + ttl;
}

void Ledger::forget_calls(Micros now) {
  for (auto& [id, given] : given_) {
    if (given.calls > 0) {
      given.state = std::nullopt;
      given.is_open = true;
    }
    if (given.renewals > 0 && given.ends_until)
      given.ends_until = std::max(*given.ends_until, now + kRenewal + asked_.at(given.tag).keep);
    given.calls = given.renewals = 0;
  }
}

void Ledger::read_log(const std::vector<std::shared_ptr<const SandboxEvent>>& events) {
  for (const auto& event : events) {
    if (event->number != last_event_ + 1) {
      accuse("I4: event " + std::to_string(event->number) + " follows event " +
             std::to_string(last_event_));
    }
    last_event_ = event->number;
    if (event->is_of_driver()) continue;
    // Of its state these say nothing new.
    if (event->health || event->queue_position) continue;
    if (!is_legal(event->from, event->to)) {
      accuse("I3: " + event->sandbox + " went from " + text(event->from) + " to " +
             text(event->to));
    }
    const auto told = told_.find(event->sandbox);
    if (told != told_.end() && told->second != event->from) {
      accuse("I4: " + event->sandbox + " was " + text(told->second) + " and then went from " +
             text(event->from) + " to " + text(event->to));
    }
    told_[event->sandbox] = event->to;
    // What it was when the log began to speak of it, nobody need tell.
    reached_[event->sandbox].insert({event->from, event->to});
  }
}

void Ledger::restart_log() {
  told_.clear();
  reached_.clear();
  last_event_ = 0;
}

void Ledger::expect_in_log(const std::string& id, State state) {
  // It may have been in that state already when it was asked to, or since an earlier daemon.
  const auto told = reached_.find(id);
  if (told != reached_.end() && told->second.contains(state)) return;
  const auto given = given_.find(id);
  const bool is_older = told == reached_.end() && given != given_.end() &&
                        (!given->second.state || *given->second.state == state);
  if (is_older) return;
  // It may have come to rest by itself, with an earlier daemon.
  const bool is_still = state == State::paused || state == State::stopped;
  if (is_still && given != given_.end() && may_rest(given->second)) return;
  accuse("I4: " + id + " was acknowledged as " + text(state) + ", and the log does not say so");
}

void Ledger::check_floor(const std::string& id, const Found& place) {
  const auto asked = asked_.find(place.tag);
  if (asked == asked_.end()) return;
  if (place.isolation < asked->second.floor) {
    accuse("floor: " + id + " is on " + place.host + ", which offers " + text(place.isolation) +
           "; " + text(asked->second.floor) + " was asked");
  }
  if (place.placement > asked->second.placement) {
    accuse("placement: " + id + " is on " + place.host + ", at " + text(place.placement));
  }
}

void Ledger::check_rest(const std::map<std::string, std::vector<Found>>& found,
                        const std::map<std::string, State>& said, Micros now) {
  std::map<std::string, std::string> by_key;
  for (const auto& [id, places] : found) {
    if (places.size() > 1) accuse("I3: " + id + " is there more than once");
    if (!said.contains(id)) accuse("I2: nobody knows " + id + " on " + places.front().host);
    for (const auto& place : places) check_floor(id, place);
    const auto asked = asked_.find(places.front().tag);
    if (places.front().is_fork || asked == asked_.end() || asked->second.key.empty()) continue;
    const auto [other, is_first] = by_key.emplace(asked->second.key, id);
    if (!is_first)
      accuse("I5: the key " + asked->second.key + " made " + other->second + " and " + id);
  }
  for (const auto& [id, state] : said) {
    const auto place = found.find(id);
    const bool is_there = place != found.end();
    if (state == State::running && !(is_there && place->second.front().is_running)) {
      accuse("I2: " + id + " is said to run, and does not");
    }
    const bool rests = state == State::stopped || state == State::paused;
    if (rests && !is_there) accuse("I2: " + id + " is said to be " + text(state) + ", and is gone");
  }
  for (const auto& [id, given] : given_) {
    const auto state = said.find(id);
    const bool is_known = state != said.end() && !is_over(state->second);
    const bool is_late = given.ends_until && *given.ends_until <= now;
    if (given.must_be_gone || is_late) {
      const bool is_epitaph = had_full_disk_ && is_known && state->second == State::failed;
      if ((is_known && !is_epitaph) || found.contains(id)) {
        accuse(std::string("I2: ") + id + " is still there, though " +
               (given.must_be_gone ? "its destruction was acknowledged" : "its time was up"));
      }
      continue;
    }
    if (given.may_be_gone || given.ends_from <= now) continue;
    if (!is_known) {
      accuse("I1: " + id + " was given, and nobody knows it any more");
      continue;
    }
    const bool has_fallen_asleep =
        may_rest(given) && given.state != State::stopped &&
        (state->second == State::paused || state->second == State::stopped);
    const bool was_revived =
        given.state == State::failed && asked_.at(given.tag).on_failure == OnFailure::recreate;
    if (given.state && state->second != *given.state && !has_fallen_asleep && !was_revived) {
      accuse("I3: " + id + " was left as " + text(*given.state) + " and is " + text(state->second));
    }
    const auto place = found.find(id);
    if (place == found.end()) {
      accuse("I1: " + id + " was given, and there is nothing of it");
      continue;
    }
    for (const auto& [path, bytes] : given.files) {
      const auto file = place->second.front().files.find(path);
      if (file == place->second.front().files.end() || file->second != bytes) {
        accuse("I1: " + path + " of " + id + " is lost");
      }
    }
  }
}

}  // namespace atl::simulation
