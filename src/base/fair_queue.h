// A fair queue: tenants take turns, and within a tenant first come is first served.
//
//   FairQueue queue;
//   const auto number = queue.push("search");
//   queue.front();      // whose turn it is
//   queue.pop();        // its tenant goes behind the others
//
// However many requests a tenant has sent, another one's first request waits for one of each tenant
// at most. A tenant that may not have more at present is held: nobody waits for its turn.
//
// Every operation takes the same time however long the queue is, but position() and longest().
// Knows neither clocks nor limits, so a test can drive it. Lives on the core loop.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

namespace atl {

class FairQueue final {
 public:
  using Number = uint64_t;

  Number push(const std::string& tenant);
  // Who is next; nullopt when nobody waits whose tenant is not held.
  std::optional<Number> front() const;
  void pop();
  // False when it does not wait any more.
  bool remove(Number number);

  void hold(const std::string& tenant);
  void let(const std::string& tenant);

  size_t size() const { return places_.size(); }
  size_t size_of(const std::string& tenant) const;
  // The tenant with the most waiting, and the last of those.
  struct Longest {
    size_t size = 0;
    Number last = 0;
  };
  Longest longest() const;

  // 1 is the next. Counts as if everybody was served in turn from now on; who comes later, and
  // those of held tenants, may still move it.
  size_t position(Number number) const;

 private:
  struct Line {
    std::list<Number> waiting;
    bool held = false;
    bool in_ring = false;
    std::list<Line*>::iterator at;  // where in the ring
    std::string tenant;
  };
  struct Waiting {
    Line* line = nullptr;
    std::list<Number>::iterator at;
  };

  Line& line_of(const std::string& tenant);
  void settle(Line& line);

  // Lines with somebody in them, or held.
  std::unordered_map<std::string, std::unique_ptr<Line>> lines_;
  std::list<Line*> ring_;  // whose turn comes, the next first
  std::unordered_map<Number, Waiting> places_;
  Number last_ = 0;
};

}  // namespace atl
