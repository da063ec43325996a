// Profiles: all that can be asked for, each with what it inherits worked in.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/profile_reader.h"

namespace atl::policy {

inline constexpr size_t kDeepestInheritance = 8;

// A profile as it is used.
struct KnownProfile {
  Profile profile;  // with everything inherited
  Origin origin = Origin::operators;
  std::string file;
  std::vector<std::string> chain;           // itself, what it inherits, what that inherits
  std::map<std::string, std::string> from;  // which of them says each field: "ttl" → "team@1"
};

class Profiles final {
 public:
  // Texts in any order; what is built in comes by itself. Code and message are those of the first
  // problem: with one bad profile none is used, because nobody knows which it stood for.
  static Result<std::shared_ptr<const Profiles>> load(std::span<const ProfileText> texts);
  // Every problem, for people who write profiles.
  static std::vector<Error> check(std::span<const ProfileText> texts);
  static std::shared_ptr<const Profiles> built_in();

  // By "NAME[@VERSION]". Code::not_found tells a name that is near, and which there are.
  Result<const KnownProfile*> get(std::string_view reference) const;
  // By name, the highest version of each first.
  std::vector<const KnownProfile*> all() const;

 private:
  friend class ProfileLoader;
  std::map<std::string, std::map<int64_t, KnownProfile>> by_name_;
};

// profiles/*.yaml, as the build has found them.
std::span<const std::pair<std::string_view, std::string_view>> built_in_texts();

}  // namespace atl::policy
