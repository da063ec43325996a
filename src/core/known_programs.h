// KnownPrograms: what starts have found in root file systems, so that the router need not start
// another sandbox to hear again that something is missing, and a start need not look again for what
// was there a moment ago.
//
// Kept in memory alone: a new daemon finds it out again, once for each root. What is kept is of a
// driver, a root and whatever else decides which programs a command finds (root_print()); it comes
// from starts before anybody's command ran, so nobody but the root itself can have made it up. What
// is missing is remembered of roots whose name says what is in them; a driver's own, which is the
// host's for most, may have it the next moment.
//
// Lives on the core loop.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "policy/requirement.h"

namespace atl {

struct CreateRequest;

class KnownPrograms final {
 public:
  struct Found {
    bool is_there = false;
    bool was_asked = false;        // for its version
    std::vector<int64_t> version;  // empty when it tells none
    Micros at{0};                  // when it was found
  };

  void note(const std::string& driver, const std::string& print, const std::string& program,
            Found found);
  // What is required and known to be missing there, in words: " has python 3.9, and python>=3.11 is
  // required"; nullopt when everything is there or nothing is known.
  std::optional<std::string> find_missing(const std::string& driver, const std::string& print,
                                          const std::vector<policy::Requirement>& required) const;
  // Whether all of it was there less than kTrusted ago. What is taken away meanwhile is missed by
  // whoever calls it, as it would be after a start.
  bool has_all(const std::string& driver, const std::string& print,
               const std::vector<policy::Requirement>& required, Micros now) const;

  static constexpr size_t kMostRoots = 1'000;
  static constexpr size_t kMostPrograms = 64;  // of each
  static constexpr Micros kTrusted = std::chrono::minutes(10);

 private:
  using Root = std::pair<std::string, std::string>;  // driver and print

  std::map<Root, std::map<std::string, Found>> roots_;
  std::deque<Root> order_;  // oldest first
};

// Names what decides which programs a start finds: the content of the root, the user and the
// environment. "" where that is not all: a root that may change under its name, something that is
// installed or shown, a snapshot.
std::string root_print(const CreateRequest& request);

// What a start knows its root by: root_print(), or where the root is the driver's own, a name for
// that. A start that brings files or a directory may look up what others have found, and adds
// nothing, since they could be what it finds.
struct StartPrint {
  std::string print;  // "" = nothing is known of it
  bool may_add = false;
};
StartPrint start_print(const CreateRequest& request);
// The same root in words: "template python:3", "image python@sha256:…".
std::string root_name(const CreateRequest& request);

}  // namespace atl
