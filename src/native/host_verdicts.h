// What the facts about a host are worth: a verdict each, what it is needed for, and what repairs
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "native/host_facts.h"

namespace atl::native {

enum class Verdict : uint8_t {
  ok,
  weak,     // works, with less than it could
  missing,  // what needs it does not work
};
BOOST_DESCRIBE_ENUM(Verdict, ok, weak, missing)

enum class Need : uint8_t {
  required,  // without it no default sandbox, or a weaker one
  useful,    // limits, speed, comfort
  optional,  // for drivers that use somebody else's work
};
BOOST_DESCRIBE_ENUM(Need, required, useful, optional)

struct HostCheck {
  std::string name;  // "user_namespaces": stays the same across versions
  Verdict verdict = Verdict::ok;
  Need need = Need::required;
  std::string found;       // one line
  std::string needed_for;  // one line
  std::string repair;      // commands for a shell; "" when there is nothing to do or to be done
};
BOOST_DESCRIBE_STRUCT(HostCheck, (), (name, verdict, need, found, needed_for, repair))

// In the order in which people read them.
std::vector<HostCheck> judge_host(const HostFacts& facts);

// The profile that lets exactly this program make user namespaces where AppArmor forbids them, as
// commands that install it.
std::string apparmor_repair(const std::string& launcher);

}  // namespace atl::native
