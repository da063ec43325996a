#include "tests/simulation/hosts.h"

#include <algorithm>
#include <set>

#include "tests/simulation/linked_driver.h"

namespace atl::simulation {
namespace {

// What a call that is not answered comes to: one says so as the launcher's client does, and another
// as that of a container engine.
struct HostKind {
  const char* name;
  Isolation isolation;
  Placement placement;
  Code silence;
};
constexpr HostKind kHosts[] = {
    {"near", Isolation::container, Placement::host, Code::deadline_exceeded},
    {"strong", Isolation::vm, Placement::own, Code::unavailable},
    {"weak", Isolation::process, Placement::host, Code::deadline_exceeded},
    {"far", Isolation::vm, Placement::third_party, Code::unavailable}};

}  // namespace

Hosts::Hosts(Dice& dice, Schedule& schedule, Ledger& ledger, Trace& trace, const Clock& clock,
             Mutant mutant)
    : dice_(dice), schedule_(schedule), ledger_(ledger), trace_(trace), mutant_(mutant) {
  for (const auto& kind : kHosts) {
    auto fake = FakeHost::make(kind.name, kind.isolation);
    fake->capabilities.pause = Pause::memory;
    fake->capabilities.fork = true;
    fake->capabilities.reset = true;
    fake->on_step = [this, which = hosts_.size()](std::string step) {
      return pass(which, std::move(step));
    };
    auto link = std::make_unique<Link>(kind.name, kind.silence, dice, schedule, trace, clock);
    link->set_on_arrival([this, which = hosts_.size()] { arrive(which); });
    const Kind well{kind.isolation, kind.placement};
    Kind says = well;
    if (mutant_ == Mutant::driver_overstates_isolation && fake->name() == "weak")
      says.isolation = Isolation::vm;
    if (mutant_ == Mutant::driver_understates_distance && fake->name() == "far")
      says.placement = Placement::own;
    fake->capabilities.isolation = says.isolation;
    fake->capabilities.placement = says.placement;
    hosts_.push_back({std::move(fake), well, well, says, std::move(link)});
  }
}

std::vector<EngineDriver> Hosts::drivers(const asio::any_io_executor& executor) {
  mutate_start();
  std::vector<EngineDriver> drivers;
  for (auto& host : hosts_) {
    Watch watch{
        .on_create = [&host](const std::string& id) { host.made_as.insert_or_assign(id, host.is); },
        // As its parent is.
        .on_fork =
            [&host](const std::string& parent, const std::string& id) {
              const auto made = host.made_as.find(parent);
              host.made_as.insert_or_assign(id,
                                            made == host.made_as.end() ? host.is : made->second);
            },
        .on_probed = [this, &host](Capabilities& found) { tell_narrowing(host, found); }};
    drivers.push_back({make_linked_driver(host.fake, *host.link, std::move(watch), executor),
                       "for the simulation"});
  }
  return drivers;
}

void Hosts::calm_down() {
  is_calm_ = true;
  bring_all_back();
  for (auto& host : hosts_) host.link->calm_down();
}

void Hosts::kill_one() {
  Host& host = hosts_[dice_.below(hosts_.size())];
  if (host.fake->is_down()) return;
  trace_.say(host.fake->name() + " goes down");
  host.fake->down();
  host.is_dead_unmet = true;
}

void Hosts::slow_one_down() {
  Host& host = hosts_[dice_.below(hosts_.size())];
  if (host.is_slow) return;
  trace_.say(host.fake->name() + " is slow");
  host.is_slow = true;
  host.is_slow_unmet = true;
}

void Hosts::cut_one_off() {
  Link& link = *hosts_[dice_.below(hosts_.size())].link;
  if (!link.is_cut()) link.cut();
}

void Hosts::narrow_one() { hosts_[dice_.below(hosts_.size())].narrows = true; }

// It is narrower once the engine knows, so that what is made too weak or too far away after that is
// the engine's fault, and nothing that nobody could know.
void Hosts::tell_narrowing(Host& host, Capabilities& found) {
  if (!std::exchange(host.narrows, false)) return;
  Capabilities& says = host.fake->capabilities;
  const bool is_lower = host.is.placement == Placement::third_party || dice_.one_in(2);
  if (is_lower && host.is.isolation != Isolation::none) {
    host.is.isolation = static_cast<Isolation>(dice_.below(static_cast<size_t>(host.is.isolation)));
    says.isolation = std::min(says.isolation, host.is.isolation);
  } else {
    host.is.placement = says.placement = Placement::third_party;
  }
  found.isolation = says.isolation;
  found.placement = says.placement;
  trace_.count(Fault::driver_narrowed);
  trace_.say(host.fake->name() + " has narrowed");
}

void Hosts::bring_all_back() {
  trace_.say("all hosts are well");
  for (auto& host : hosts_) {
    host.fake->up();
    host.is_slow = host.is_slow_unmet = host.is_dead_unmet = false;
    host.link->mend();
    host.narrows = false;
    host.is = host.well;
    host.fake->capabilities.isolation = host.says.isolation;
    host.fake->capabilities.placement = host.says.placement;
  }
}

int Hosts::expire(Micros now) {
  int ended = 0;
  for (auto& host : hosts_) {
    for (const auto& id : host.fake->ids()) {
      const auto box = host.fake->boxes.at(id);
      const Micros at = box->spec.expires_at;
      if (!box->running || at.count() == 0 || at > now) continue;
      trace_.say(host.fake->name() + " ends " + id);
      ++ended;
      if (dice_.one_in(3)) {
        host.fake->end_unheard(id);
      } else {
        host.fake->end(id, EndedBy::expiry);
      }
    }
  }
  return ended;
}

void Hosts::forget_waiters() {
  for (auto& host : hosts_) host.link->forget_waiters();
}

void Hosts::meet(bool& unmet, Fault fault) {
  if (std::exchange(unmet, false)) trace_.count(fault);
}

void Hosts::arrive(size_t which) {
  if (hosts_[which].fake->is_down()) meet(hosts_[which].is_dead_unmet, Fault::driver_dead);
}

Task<> Hosts::pass(size_t which, std::string step) {
  Host& host = hosts_[which];
  if (host.is_slow) meet(host.is_slow_unmet, Fault::driver_slow);
  CO_TRY_OK(co_await schedule_.point(host.is_slow ? Pace::slow : Pace::usual));
  const bool is_done = step.ends_with(" after");
  if (is_done) {
    mutate(host, step);
    if (step == "create after" || step == "fork after") check_new(host);
  }
  if (is_calm_) co_return Result<>();
  const bool is_dead = host.fake->is_down();
  if (is_dead) meet(host.is_dead_unmet, Fault::driver_dead);
  if (!is_dead && !dice_.one_in(60)) co_return Result<>();
  // After it took effect it is the answer that is lost.
  if (!is_dead) trace_.count(is_done ? Fault::answer_lost : Fault::call_refused);
  trace_.say(host.fake->name() + ": " + step + " fails");
  co_return Error(Code::unavailable, host.fake->name() + " broke off");
}

void Hosts::mutate_start() {
  if (mutant_ != Mutant::box_loses_files_on_attach) return;
  for (const auto& host : hosts_) {
    for (const auto& [id, box] : host.fake->boxes) {
      if (dice_.one_in(3)) box->files.clear();
    }
  }
}

void Hosts::mutate(Host& host, const std::string& step) {
  const auto which = static_cast<size_t>(&host - hosts_.data());
  // Of one that nobody has been given yet, if there is one.
  const auto copy_of_new = [&]() -> std::shared_ptr<FakeBox> {
    for (const auto& [id, box] : host.fake->boxes) {
      if (ledger_.given().contains(id)) continue;
      auto copy = std::make_shared<FakeBox>();
      copy->id = id;
      copy->spec.env = box->spec.env;
      return copy;
    }
    return nullptr;
  };
  if (mutant_ == Mutant::create_makes_it_twice && step == "create after" && dice_.one_in(5)) {
    if (auto copy = copy_of_new()) hidden_.emplace_back(which, std::move(copy));
  }
  if (mutant_ == Mutant::create_leaves_another && step == "create after" && dice_.one_in(10)) {
    if (auto copy = copy_of_new()) {
      copy->id = "sbxleft" + std::to_string(hidden_.size());
      hidden_.emplace_back(which, std::move(copy));
    }
  }
  if (step == "create after" && host.fake->name() == "strong" &&
      mutant_ == Mutant::create_lands_on_a_weaker_host && dice_.one_in(3))
    make_elsewhere(host, "weak");
  if (step == "create after" && host.fake->name() == "near" &&
      mutant_ == Mutant::create_lands_on_a_farther_host && dice_.one_in(3))
    make_elsewhere(host, "far");
  if (mutant_ == Mutant::destroy_leaves_the_box && step == "destroy after" && dice_.one_in(5)) {
    for (const auto& [id, given] : ledger_.given()) {
      if (!given.may_be_gone || host.fake->has(id)) continue;
      auto left = std::make_shared<FakeBox>();
      left->id = id;
      hidden_.emplace_back(which, std::move(left));
      break;
    }
  }
  if (mutant_ == Mutant::resume_leaves_it_still && step == "resume after") {
    for (const auto& [id, box] : host.fake->boxes) box->paused = box->running;
  }
  if (mutant_ == Mutant::resume_leaves_it_ended && step == "resume after") {
    for (const auto& [id, box] : host.fake->boxes) {
      if (!box->paused && dice_.one_in(4)) box->running = false;
    }
  }
}

// What was just made on `host` is on another one, and both say that it is not.
void Hosts::make_elsewhere(Host& host, const std::string& other) {
  std::vector<std::shared_ptr<FakeBox>> moved;
  for (const auto& [id, box] : host.fake->boxes) {
    if (!look_at(host, *box).tag.empty() && !ledger_.given().contains(id)) moved.push_back(box);
  }
  Host& there =
      *std::ranges::find_if(hosts_, [&](const Host& one) { return one.fake->name() == other; });
  for (const auto& box : moved) {
    host.fake->boxes.erase(box->id);
    there.fake->boxes[box->id] = box;
  }
  check_new(there);
}

// Where a sandbox is and whose it is never changes, so it is enough to look when it is made.
void Hosts::check_new(const Host& host) {
  for (const auto& [id, box] : host.fake->boxes) ledger_.check_floor(id, look_at(host, *box));
}

Found Hosts::look_at(const Host& host, const FakeBox& box) const {
  const auto made = host.made_as.find(box.id);
  const Kind kind = made != host.made_as.end() ? made->second : host.is;
  Found found{.host = host.fake->name(),
              .is_fork = host.fake->forked.contains(box.id),
              .is_running = box.running,
              .isolation = kind.isolation,
              .placement = kind.placement};
  const auto tag = box.spec.env.find(kTag);
  const auto file = box.files.find(kTagFile);
  if (tag != box.spec.env.end()) {
    found.tag = tag->second;
  } else if (file != box.files.end()) {
    found.tag = file->second.bytes;
  }
  return found;
}

std::shared_ptr<FakeBox> Hosts::find(const std::string& host, const std::string& id) const {
  const FakeHost* const on = find_host(host);
  return on != nullptr && on->has(id) ? on->boxes.at(id) : nullptr;
}

FakeHost* Hosts::find_host(const std::string& name) const {
  for (const auto& host : hosts_) {
    if (host.fake->name() == name) return host.fake.get();
  }
  return nullptr;
}

Found Hosts::place_of(const std::string& name) const {
  for (const auto& host : hosts_) {
    if (host.fake->name() == name)
      return {.host = name, .isolation = host.well.isolation, .placement = host.well.placement};
  }
  return {.host = name};
}

std::string Hosts::tag_of(const std::string& id) const {
  for (const auto& host : hosts_) {
    if (host.fake->has(id)) return look_at(host, *host.fake->boxes.at(id)).tag;
  }
  return "";
}

std::map<std::string, std::vector<Found>> Hosts::find_all() const {
  std::map<std::string, std::vector<Found>> all;
  const auto add = [&](const Host& host, const FakeBox& box) {
    Found found = look_at(host, box);
    for (const auto& [path, file] : box.files) found.files[path] = file.bytes;
    all[box.id].push_back(std::move(found));
  };
  for (const auto& host : hosts_) {
    for (const auto& [id, box] : host.fake->boxes) add(host, *box);
  }
  for (const auto& [which, box] : hidden_) add(hosts_[which], *box);
  return all;
}

uint64_t Hosts::failovers() const {
  std::set<std::string> asked;
  uint64_t count = 0;
  for (const auto& host : hosts_) {
    for (const auto& call : host.fake->calls) {
      if (call.starts_with("create ") && !asked.insert(call).second) ++count;
    }
  }
  return count;
}

}  // namespace atl::simulation
