// KnownPrograms: what starts have found in root file systems whose name says what is in them, so
// that the router need not start another sandbox to hear again that something is missing.
//
// Kept in memory alone: a new daemon finds it out again, once for each root. What is kept is of a
// driver, a root and whatever else decides which programs a command finds (root_print()); it comes
// from starts before anybody's command ran, so nobody but the root itself can have made it up.
//
// Lives on the core loop.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/requirement.h"

namespace atl {

struct CreateRequest;

class KnownPrograms final {
 public:
  struct Found {
    bool is_there = false;
    bool was_asked = false;        // for its version
    std::vector<int64_t> version;  // empty when it tells none
  };

  void note(const std::string& driver, const std::string& print, const std::string& program,
            Found found);
  // What is required and known to be missing there, in words: " has python 3.9, and python>=3.11 is
  // required"; nullopt when everything is there or nothing is known.
  std::optional<std::string> find_missing(const std::string& driver, const std::string& print,
                                          const std::vector<policy::Requirement>& required) const;

  static constexpr size_t kMostRoots = 1'000;
  static constexpr size_t kMostPrograms = 64;  // of each

 private:
  using Root = std::pair<std::string, std::string>;  // driver and print

  std::map<Root, std::map<std::string, Found>> roots_;
  std::deque<Root> order_;  // oldest first
};

// Names what decides which programs a start finds: the content of the root, the user and the
// environment. "" where that is not all: a root that may change under its name, something that is
// installed or shown, a snapshot.
std::string root_print(const CreateRequest& request);
// The same root in words: "template python:3", "image python@sha256:…".
std::string root_name(const CreateRequest& request);

}  // namespace atl
