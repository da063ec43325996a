#include "base/fair_queue.h"

#include <algorithm>

#include "base/check.h"

namespace atl {

FairQueue::Line& FairQueue::line_of(const std::string& tenant) {
  auto& line = lines_[tenant];
  if (!line) {
    line = std::make_unique<Line>();
    line->tenant = tenant;
  }
  return *line;
}

// Puts the line where it belongs: into the ring when it has somebody who may be served, out of it
// otherwise, and out of memory when nothing is known of it.
void FairQueue::settle(Line& line) {
  const bool belongs = !line.waiting.empty() && !line.held;
  if (belongs && !line.in_ring) line.at = ring_.insert(ring_.end(), &line);
  if (!belongs && line.in_ring) ring_.erase(line.at);
  line.in_ring = belongs;
  if (line.waiting.empty() && !line.held) lines_.erase(lines_.find(line.tenant));
}

FairQueue::Number FairQueue::push(const std::string& tenant) {
  Line& line = line_of(tenant);
  const Number number = ++last_;
  places_.emplace(number, Waiting{&line, line.waiting.insert(line.waiting.end(), number)});
  settle(line);
  return number;
}

std::optional<FairQueue::Number> FairQueue::front() const {
  if (ring_.empty()) return std::nullopt;
  return ring_.front()->waiting.front();
}

void FairQueue::pop() {
  ATOLL_CHECK(!ring_.empty());
  Line& line = *ring_.front();
  places_.erase(line.waiting.front());
  line.waiting.pop_front();
  ring_.splice(ring_.end(), ring_, line.at);
  settle(line);
}

bool FairQueue::remove(Number number) {
  const auto found = places_.find(number);
  if (found == places_.end()) return false;
  Line& line = *found->second.line;
  line.waiting.erase(found->second.at);
  places_.erase(found);
  settle(line);
  return true;
}

void FairQueue::hold(const std::string& tenant) {
  Line& line = line_of(tenant);
  line.held = true;
  settle(line);
}

void FairQueue::let(const std::string& tenant) {
  const auto found = lines_.find(tenant);
  if (found == lines_.end()) return;
  found->second->held = false;
  settle(*found->second);
}

size_t FairQueue::size_of(const std::string& tenant) const {
  const auto found = lines_.find(tenant);
  return found == lines_.end() ? 0 : found->second->waiting.size();
}

FairQueue::Longest FairQueue::longest() const {
  Longest longest;
  for (const auto& [tenant, line] : lines_) {
    if (line->waiting.size() > longest.size) longest = {line->waiting.size(), line->waiting.back()};
  }
  return longest;
}

size_t FairQueue::position(Number number) const {
  const auto found = places_.find(number);
  if (found == places_.end()) return 0;
  const Line& own = *found->second.line;
  const auto before = static_cast<size_t>(
      std::distance(own.waiting.begin(), std::list<Number>::const_iterator(found->second.at)));
  size_t position = before + 1;
  bool is_ahead = own.in_ring;  // whether the line that we look at has its turn before ours
  for (const Line* line : ring_) {
    if (line == &own) {
      is_ahead = false;
    } else {
      position += std::min(line->waiting.size(), before + (is_ahead ? 1 : 0));
    }
  }
  return position;
}

}  // namespace atl
