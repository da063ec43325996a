#include "core/access.h"

#include <boost/describe/enumerators.hpp>
#include <boost/mp11/algorithm.hpp>

namespace atl {
namespace {

// Whoever holds a sandbox's token is none of the roles.
constexpr unsigned kAdmin = 1, kMember = 2, kViewer = 4, kAgent = 8, kToken = 16, kReadToken = 32;
constexpr unsigned kAnyKey = kAdmin | kMember | kViewer | kAgent;

// No default: a new action does not compile before somebody has decided.
constexpr unsigned who_may(Action action) {
  switch (action) {
    case Action::open:
    case Action::know:
      return kAnyKey | kToken | kReadToken;
    case Action::survey:
      return kAnyKey;
    case Action::measure:
      return kAdmin | kMember | kViewer;
    case Action::look:
      return kAnyKey | kToken | kReadToken;
    case Action::read:
      return kAdmin | kMember | kAgent | kToken | kReadToken;
    case Action::use:
      return kAdmin | kMember | kAgent | kToken;
    case Action::manage:
    case Action::create:
    case Action::delegate:
      return kAdmin | kMember | kAgent;
    case Action::administer:
      return kAdmin;
  }
  return 0;
}

constexpr unsigned bit_of(const Caller& caller) {
  if (!caller.sandbox.empty()) return caller.role == Role::viewer ? kReadToken : kToken;
  switch (caller.role) {
    case Role::admin:
      return kAdmin;
    case Role::member:
      return kMember;
    case Role::viewer:
      return kViewer;
    case Role::agent:
      return kAgent;
  }
  return 0;
}

}  // namespace

bool may(const Caller& caller, Action action) { return (who_may(action) & bit_of(caller)) != 0; }

std::vector<Action> all_that_may(const Caller& caller) {
  std::vector<Action> actions;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<Action>>([&](auto enumerator) {
    if (may(caller, enumerator.value)) actions.push_back(enumerator.value);
  });
  return actions;
}

bool sees(const Caller& caller, std::string_view tenant, std::string_view owner,
          std::string_view id) {
  if (!caller.sandbox.empty()) return caller.sandbox == id;
  if (caller.role == Role::admin) return true;
  if (tenant != caller.tenant) return false;
  return caller.role != Role::agent || owner == caller.subject;
}

}  // namespace atl
