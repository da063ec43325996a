// Holds: what clients know of their sessions, and therefore what must be true of them.
//
//   I7  a sandbox is held by the sessions that were opened and are not over, and by nobody else:
//       none of them is lost, none comes back, their number is right, those who hold it see it and
//       no other agent does, and one that nobody holds does not run
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/engine.h"

namespace atl::simulation {

class Holds final {
 public:
  struct Hold {
    SessionView view;
    // It ends between these two moments.
    Micros ends_from{0};
    std::optional<Micros> ends_until;  // nullopt: nobody can say
    int renewals = 0;                  // under way
    bool must_be_gone = false;         // that it was closed was acknowledged
    bool may_be_gone = false;          // somebody wanted to close it, or the world has harmed it
  };

  void begin_open(const Caller& caller, const SessionAsk& ask);
  void end_open(const Caller& caller, const SessionAsk& ask, const Result<SessionView>& answer,
                Micros begun, Micros now);
  void begin_renewal(const std::string& id, std::chrono::seconds ttl, Micros now);
  void end_renewal(const std::string& id, const Result<SessionView>& answer,
                   std::chrono::seconds ttl, Micros begun, Micros now);
  void begin_close(const std::string& id) { holds_.at(id).may_be_gone = true; }
  void end_close(const std::string& id) { holds_.at(id).must_be_gone = true; }

  // All calls under way have lost their caller, and the daemon.
  void forget_calls();
  void note_harm(const std::string& sandbox);

  // The ids of those that are not over, as far as a client knows.
  std::vector<std::string> open() const;
  // Sandboxes that sessions were known to hold.
  const std::set<std::string>& sandboxes() const { return sandboxes_; }

  // What is wrong once everything has come to rest and those whose time is up were closed; "" =
  // nothing.
  std::string check(const std::vector<SessionView>& listed,
                    const std::map<std::string, SandboxView>& said, Micros now) const;

 private:
  using Place = std::tuple<std::string, SessionScope, std::string>;  // who, what kind, which key

  static Place place_of(const std::string& owner, SessionScope scope, const std::string& key) {
    return {owner, scope, key};
  }

  std::map<std::string, Hold> holds_;  // by id
  std::set<std::string> sandboxes_;
  std::map<Place, int> opening_;  // calls under way
  std::map<Place, int> unknown_;  // that may have come about, and nobody was told
};

}  // namespace atl::simulation
