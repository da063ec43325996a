// Who calls, and what they may do. Every decision about access is made here.
//
// Two questions, asked in this order: may() says whether somebody in this role may do such a thing
// at all (otherwise Code::permission_denied, whatever it is about), and sees() says whether a
// sandbox exists for them. One that does not is answered like one that never was, so ids of others
// cannot be found out by asking.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/describe/enum.hpp>

#include "telemetry/trace.h"

namespace atl {

enum class Role : uint8_t {
  admin,   // everything: all tenants, keys, the daemon itself
  member,  // all sandboxes of its tenant
  viewer,  // what there is in its tenant and how it does; changes nothing, reads no contents
  agent,   // makes sandboxes in its tenant, and sees those that it made
};
BOOST_DESCRIBE_ENUM(Role, admin, member, viewer, agent)

// On whose behalf a call is made.
struct Caller {
  std::string tenant = "default";
  // The key's id, "uid:1000" of a user at the Unix socket, "socket" for the daemon's own user
  // there; "" for the embedded engine.
  std::string subject = {};
  Role role = Role::member;
  // Of a sandbox's token: the only one that it is for. With Role::viewer it is for looking and
  // reading there.
  std::string sandbox = {};
  // Where what is done on its behalf is told; empty when nobody listens.
  telemetry::SpanScope trace = {};
};

// What routes are for. Each route names one.
enum class Action : uint8_t {
  open,        // whether the daemon is there: nobody is asked who they are
  know,        // oneself: who, which limits, which version answers
  survey,      // which drivers and templates there are
  measure,     // counters of the whole daemon
  look,        // which sandboxes, processes and names of files there are
  read,        // what is inside: contents of files, output
  use,         // run commands, write files, reach ports
  manage,      // stop, start, change and destroy
  create,      // make sandboxes, and others from them
  delegate,    // give a token for a sandbox away
  administer,  // keys, templates, and the daemon itself
};
BOOST_DESCRIBE_ENUM(Action, open, know, survey, measure, look, read, use, manage, create, delegate,
                    administer)

bool may(const Caller& caller, Action action);
std::vector<Action> all_that_may(const Caller& caller);

// Whether a sandbox with this tenant, owner and id is there for the caller.
bool sees(const Caller& caller, std::string_view tenant, std::string_view owner,
          std::string_view id);

}  // namespace atl
