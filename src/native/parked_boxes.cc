#include "native/parked_boxes.h"

#include <algorithm>
#include <utility>

#include "base/ids.h"
#include "telemetry/log.h"

namespace atl::native {
namespace {

constexpr Micros kAfterFailure = std::chrono::seconds(5);
constexpr size_t kMadeAtOnce = 2;  // where creates leave no pause

}  // namespace

std::shared_ptr<ParkedBoxes> ParkedBoxes::create(const asio::any_io_executor& executor,
                                                 const Clock& clock, size_t most, Make make) {
  return std::shared_ptr<ParkedBoxes>(
      new ParkedBoxes(executor, clock, std::min(most, kMostOfAKind), std::move(make)));
}

bool ParkedBoxes::can_park(const BoxRequest& request) {
  return request.directories.empty() && !request.has_root && !request.has_workspace &&
         request.dedicated_cpus == 0 && request.reserved_memory_bytes == 0 &&
         request.storage == Storage::memory;
}

ParkedBoxes::Shelf* ParkedBoxes::find(const BoxRequest& request) {
  const auto found = std::ranges::find(shelves_, request, &Shelf::request);
  return found == shelves_.end() ? nullptr : &*found;
}

ParkedBoxes::Shelf* ParkedBoxes::find_or_add(const BoxRequest& request) {
  if (most_ == 0 || !can_park(request)) return nullptr;
  Shelf* shelf = find(request);
  // Many kinds that are asked for once each are not worth a shelf.
  if (shelf != nullptr || !make_room()) return shelf;
  shelf = &shelves_.emplace_back();
  shelf->request = request;
  shelf->wanted = std::min(kFirst, most_of(request));
  return shelf;
}

// For one more kind. What was on the shelf goes with the next trim.
bool ParkedBoxes::make_room() {
  if (shelves_.size() < kMostKinds) return true;
  const auto oldest = std::ranges::min_element(shelves_, {}, &Shelf::taken_from);
  if (clock_.boot() - oldest->taken_from < kStale) return false;
  for (auto& box : oldest->ready) {
    const std::string id = box->id();
    reserved_[id] = {std::move(box), -kReserved};
  }
  shelves_.erase(oldest);
  return true;
}

void ParkedBoxes::expect(const BoxRequest& request) {
  Shelf* shelf = find_or_add(request);
  if (shelf == nullptr) return;
  shelf->taken_from = clock_.boot();
  refill();
}

std::string ParkedBoxes::reserve(const BoxRequest& request) {
  Shelf* shelf = find_or_add(request);
  if (shelf == nullptr) return "";
  shelf->taken_from = clock_.boot();
  is_quiet_ = false;
  std::string id;
  if (shelf->ready.empty()) {
    ++misses_;
    shelf->wanted = std::min(std::max<size_t>(shelf->wanted * 2, kFirst), most_of(request));
  } else {
    ++hits_;
    Box box = std::move(shelf->ready.front());
    shelf->ready.pop_front();
    id = box->id();
    reserved_[id] = {std::move(box), clock_.boot()};
    shelf->was_low |= shelf->ready.size() < half_of(*shelf);
  }
  return id;
}

ParkedBoxes::Box ParkedBoxes::take(const std::string& id) {
  auto taken = reserved_.extract(id);
  return taken ? std::move(taken.mapped().box) : nullptr;
}

bool ParkedBoxes::owns(const std::string& id) const {
  if (reserved_.contains(id) || std::ranges::count(making_, id, &Making::id) > 0) return true;
  return std::ranges::any_of(shelves_, [&](const Shelf& shelf) {
    return std::ranges::any_of(shelf.ready, [&](const Box& box) { return box->id() == id; });
  });
}

void ParkedBoxes::forget(const std::string& id) {
  reserved_.erase(id);
  for (auto& shelf : shelves_) {
    std::erase_if(shelf.ready, [&](const Box& box) { return box->id() == id; });
  }
}

size_t ParkedBoxes::enough_of(const Shelf& shelf) const {
  if (is_quiet_) return shelf.wanted;
  return shelf.request.sentry ? 0 : half_of(shelf);
}

bool ParkedBoxes::may_begin(const Shelf& shelf) const {
  const auto on_its_way =
      std::ranges::count(making_, shelf.request, [](const Making& one) { return one.request; });
  if (shelf.ready.size() + static_cast<size_t>(on_its_way) >= enough_of(shelf)) return false;
  if (making_.empty()) return true;
  const auto takes_all = [](const Making& one) { return one.request.sentry; };
  return !is_quiet_ && making_.size() < kMadeAtOnce && !shelf.request.sentry &&
         std::ranges::none_of(making_, takes_all);
}

void ParkedBoxes::refill() {
  if (!is_quiet_) await_pause();
  // Each of them may be made, and fill a shelf or take one away, before spawn() is back.
  const auto next = [&] {
    return clock_.boot() < not_before_
               ? shelves_.end()
               : std::ranges::find_if(shelves_, [&](const Shelf& one) { return may_begin(one); });
  };
  for (auto shelf = next(); shelf != shelves_.end(); shelf = next()) {
    const Making& one = making_.emplace_back(make_sandbox_id(), shelf->request);
    spawn(executor_, make_one(one.id, one.request),
          [self = shared_from_this(), id = one.id](const Result<>& made) {
            self->on_made(id, made);
          });
  }
}

void ParkedBoxes::on_made(const std::string& id, const Result<>& made) {
  const auto found = std::ranges::find(making_, id, &Making::id);
  const BoxRequest request = std::move(found->request);
  making_.erase(found);
  if (made) {
    trouble_.clear();
  } else if (made.error().code() == Code::invalid_argument) {
    // Nobody can have such a sandbox, and whoever asked has been told.
    std::erase_if(shelves_, [&](const Shelf& shelf) { return shelf.request == request; });
  } else {
    not_before_ = clock_.boot() + kAfterFailure;
    std::string trouble = made.error().message();
    if (const size_t at = trouble.find(id); at != std::string::npos) trouble.erase(at, id.size());
    if (trouble != trouble_) {
      telemetry::log_warn("no sandbox could be made ahead", {{"why", made.error().message()}});
    }
    trouble_ = std::move(trouble);
  }
  refill();
}

void ParkedBoxes::await_pause() {
  pause_.after(kPause, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self) self->on_pause();
  });
}

// Who takes more than half at a stretch would wait for the refill next time, too.
void ParkedBoxes::on_pause() {
  is_quiet_ = true;
  for (auto& shelf : shelves_) {
    if (std::exchange(shelf.was_low, false))
      shelf.wanted = std::min(shelf.wanted * 2, most_of(shelf.request));
  }
  refill();
}

Task<> ParkedBoxes::make_one(std::string id, BoxRequest request) {
  const auto self = shared_from_this();
  CO_TRY(auto box, co_await make_(std::move(id), request));
  Shelf* const shelf = find(request);
  if (shelf != nullptr && box->is_running()) {
    shelf->ready.push_back(std::move(box));
    co_return Result<>();
  }
  co_return co_await box->destroy();
}

Task<> ParkedBoxes::trim() {
  const auto self = shared_from_this();
  const Micros now = clock_.boot();
  std::vector<Box> unwanted;
  for (auto it = shelves_.begin(); it != shelves_.end();) {
    Shelf& shelf = *it;
    if (now - shelf.taken_from > kUnused) {
      shelf.taken_from = now;
      shelf.wanted /= 2;
    }
    while (shelf.ready.size() > shelf.wanted) {
      unwanted.push_back(std::move(shelf.ready.back()));
      shelf.ready.pop_back();
    }
    it = shelf.wanted == 0 ? shelves_.erase(it) : std::next(it);
  }
  for (auto it = reserved_.begin(); it != reserved_.end();) {
    if (now - it->second.since > kReserved) {
      unwanted.push_back(std::move(it->second.box));
      it = reserved_.erase(it);
    } else {
      ++it;
    }
  }
  refill();
  for (auto& box : unwanted) {
    auto destroyed = co_await box->destroy();
    if (!destroyed) {
      telemetry::log_warn("a parked sandbox is left over, the sweeper will destroy it",
                          {{"sandbox", box->id()}, {"why", destroyed.error().message()}});
    }
  }
  co_return Result<>();
}

ParkedBoxes::Counts ParkedBoxes::counts() const {
  Counts counts{hits_, misses_, reserved_.size()};
  for (const auto& shelf : shelves_) counts.parked += shelf.ready.size();
  return counts;
}

}  // namespace atl::native
