// The routes as data, and the router that finds the one for a request.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/call.h"

namespace atl::api {

enum class Answer : uint8_t {
  whole,    // HEAD is answered too
  streams,  // as long as a process runs: no HEAD
};

// Reading is what monitors do all day, and stdin comes in many pieces: they would push everything
// else out of what is kept.
enum class Traced : uint8_t {
  always,
  when_asked,  // by a traceparent that is sampled
};

// Method, pattern, action and handler have no default: a route that does not say who may call it
// does not compile.
struct Route {
  net::Method method;
  std::string_view pattern;  // "/v1/sandboxes/{id}"; a placeholder is never empty
  Action action;
  Task<> (*serve)(Call& call);
  // The query parameters that it knows, separated by blanks; see check_parameters.
  std::string_view parameters = "";
  Answer answer = Answer::whole;
  Traced traced = Traced::always;
};

// Every route of the API. openapi/operations.yaml describes the same ones; a test compares them.
std::span<const Route> all_routes();

class Router final {
 public:
  explicit Router(std::span<const Route> routes);

  struct Found {
    const Route* route = nullptr;  // null: nothing has this path, or nothing takes this method
    std::string allow;             // the methods that the path has, when only the method is wrong
  };
  Found find(const net::Request& request) const;

  // The nearest path that exists, filled in with what the request has; "" when none is near.
  std::string suggest(const net::Request& request) const;

 private:
  struct Entry {
    const Route* route;
    std::vector<std::string> segments;
  };

  std::vector<Entry> entries_;
};

}  // namespace atl::api
