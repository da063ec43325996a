#include "tests/simulation/holds.h"

#include <algorithm>

namespace atl::simulation {
namespace {

// The sandboxes live for an hour; as long as no life is longer, sessions end by themselves alone.
constexpr Micros kSandboxLife = std::chrono::seconds(3'000);

// The last look for those whose time is up is some time ago.
constexpr Micros kSinceLastLook = std::chrono::seconds(2);

}  // namespace

void Holds::begin_open(const Caller& caller, const SessionAsk& ask) {
  ++opening_[place_of(caller.subject, *ask.scope, ask.key)];
}

void Holds::end_open(const Caller& caller, const SessionAsk& ask, const Result<SessionView>& answer,
                     Micros begun, Micros now) {
  const Place place = place_of(caller.subject, *ask.scope, ask.key);
  --opening_[place];
  if (!answer) {
    // Whoever goes away is not told that it goes on.
    if (answer.error().code() == Code::cancelled) ++unknown_[place];
    return;
  }
  sandboxes_.insert(answer->sandbox);
  holds_[answer->id] = {
      .view = *answer, .ends_from = begun + *ask.ttl, .ends_until = now + *ask.ttl};
}

void Holds::begin_renewal(const std::string& id, std::chrono::seconds ttl, Micros now) {
  Hold& hold = holds_.at(id);
  ++hold.renewals;
  hold.ends_from = std::min(hold.ends_from, now + ttl);
  hold.ends_until = std::nullopt;
}

void Holds::end_renewal(const std::string& id, const Result<SessionView>& answer,
                        std::chrono::seconds ttl, Micros begun, Micros now) {
  Hold& hold = holds_.at(id);
  const bool was_alone = hold.renewals == 1;
  hold.renewals = std::max(0, hold.renewals - 1);
  if (!answer || !was_alone) return;
  hold.ends_from = begun + ttl;
  hold.ends_until = now + ttl;
}

void Holds::forget_calls() {
  for (auto& [place, count] : opening_) unknown_[place] += std::exchange(count, 0);
  for (auto& [id, hold] : holds_) hold.renewals = 0;
}

void Holds::note_harm(const std::string& sandbox) {
  for (auto& [id, hold] : holds_) {
    if (hold.view.sandbox == sandbox) hold.may_be_gone = true;
  }
}

std::vector<std::string> Holds::open() const {
  std::vector<std::string> ids;
  for (const auto& [id, hold] : holds_) {
    if (!hold.must_be_gone) ids.push_back(id);
  }
  return ids;
}

std::string Holds::check(const std::vector<SessionView>& listed,
                         const std::map<std::string, SandboxView>& said, Micros now) const {
  std::map<std::string, const SessionView*> by_id;
  std::map<std::string, size_t> count;
  std::map<std::pair<SessionScope, std::string>, std::string> shared;
  auto unknown = unknown_;
  for (const auto& view : listed) {
    by_id[view.id] = &view;
    ++count[view.sandbox];
    if (!said.contains(view.sandbox)) return "session " + view.id + " holds nothing";
    if (view.scope != SessionScope::session) {
      const auto [other, is_first] = shared.emplace(std::pair(view.scope, view.key), view.sandbox);
      if (!is_first && other->second != view.sandbox)
        return "the key " + view.key + " is held on " + other->second + " and " + view.sandbox;
    }
    if (holds_.contains(view.id)) continue;
    if (--unknown[place_of(view.owner, view.scope, view.key)] < 0)
      return "nobody has opened session " + view.id;
  }
  for (const auto& view : listed) {
    if (view.holders != count[view.sandbox]) {
      return view.sandbox + " is held by " + std::to_string(count[view.sandbox]) +
             ", and said to be by " + std::to_string(view.holders);
    }
  }
  for (const auto& [id, hold] : holds_) {
    const bool is_there = by_id.contains(id);
    if (is_there && hold.must_be_gone) return "session " + id + " was closed, and is there";
    if (is_there && hold.ends_until && *hold.ends_until + kSinceLastLook <= now)
      return "session " + id + " is there, though its time was up";
    const bool must_be_there =
        !hold.must_be_gone && !hold.may_be_gone && now < hold.ends_from && now < kSandboxLife;
    if (must_be_there && !is_there) return "session " + id + " was opened, and nobody knows it";
    if (is_there && by_id.at(id)->sandbox != hold.view.sandbox)
      return "session " + id + " holds another sandbox than it did";
  }
  for (const auto& [id, view] : said) {
    const bool is_held_by_nobody = sandboxes_.contains(id) && !count.contains(id);
    if (is_held_by_nobody && view.state == State::running) return "nobody holds " + id;
  }
  return "";
}

}  // namespace atl::simulation
