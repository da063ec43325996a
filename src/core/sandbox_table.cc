#include "core/sandbox_table.h"

#include <charconv>

#include "base/check.h"
#include "base/text.h"
#include "core/transitions.h"
#include "json/describe.h"
#include "telemetry/metrics.h"

namespace atl {
namespace {

constexpr size_t kMostEpitaphs = 4'096;
constexpr size_t kLargestPage = 1'000;

std::pair<int64_t, std::string> age_of(const SandboxRecord& record) {
  return {record.created_at.time_since_epoch().count(), record.id};
}

bool matches(const SandboxRecord& record, const ListFilter& filter) {
  if (filter.state && record.state != *filter.state) return false;
  if (!filter.driver.empty() && record.driver != filter.driver) return false;
  if (!filter.name.empty() && record.name != filter.name) return false;
  if (!filter.user_id.empty() && record.asked.user_id != filter.user_id) return false;
  for (const auto& [name, value] : filter.labels) {
    const auto found = record.asked.labels.find(name);
    if (found == record.asked.labels.end() || found->second != value) return false;
  }
  return true;
}

// "<created_at in ms>-<id>" of the last one on the page before.
Result<std::pair<int64_t, std::string>> parse_cursor(const std::string& cursor) {
  int64_t created_at = 0;
  const char* end = cursor.data() + cursor.size();
  const auto [rest, error] = std::from_chars(cursor.data(), end, created_at);
  if (error != std::errc() || rest == end || *rest != '-' || cursor.size() > 100) {
    return Error(Code::invalid_argument, "cursor: no page gave this one")
        .with_hint("use next_cursor of the page before, as it is");
  }
  return std::pair(created_at, std::string(rest + 1, end));
}

}  // namespace

void SandboxTable::insert(const RecordPtr& record) {
  ATOLL_CHECK(by_id_.emplace(record->id, record).second);
  by_age_.emplace(age_of(*record), record);
  record->amounts = policy::amounts_of(record->resources, assumed_);
  used_ += record->amounts;
  add_use(record->tenant, record->amounts);
  count_on_driver(*record);
  if (!record->name.empty()) {
    ATOLL_CHECK(by_name_.emplace(Name(record->tenant, record->name), record).second);
  }
  metrics_.sandboxes.at(json::name_of(record->state)).add(1);
}

void SandboxTable::forget(const RecordPtr& record) {
  by_id_.erase(record->id);
  by_age_.erase(age_of(*record));
  used_ -= record->amounts;
  if (!record->counted_on.empty())
    used_on_[std::exchange(record->counted_on, "")] -= record->amounts;
  discount(*record);
  if (!record->name.empty()) by_name_.erase(Name(record->tenant, record->name));
  metrics_.sandboxes.at(json::name_of(record->state)).add(-1);
}

void SandboxTable::bury(const RecordPtr& record, std::string epitaph) {
  if (!by_id_.contains(record->id)) return;
  forget(record);
  epitaphs_[record->id] = {record->tenant, record->owner, std::move(epitaph)};
  buried_.push_back(record->id);
  if (buried_.size() > kMostEpitaphs) {
    epitaphs_.erase(buried_.front());
    buried_.pop_front();
  }
}

void SandboxTable::move_to(SandboxRecord& record, State state) {
  ATOLL_CHECK(is_legal(record.state, state));
  set_state(record, state);
}

void SandboxTable::take_back(SandboxRecord& record, State state) { set_state(record, state); }

void SandboxTable::set_state(SandboxRecord& record, State state) {
  metrics_.sandboxes.at(json::name_of(record.state)).add(-1);
  const State from = std::exchange(record.state, state);
  metrics_.sandboxes.at(json::name_of(record.state)).add(1);
  // A daemon that takes a sandbox up concludes in what it was.
  // What is nobody's is not told of: for whoever gets it, it begins then.
  if (from != state && record.lifecycle != Lifecycle::pooled) events_.add(record, from);
}

RecordPtr SandboxTable::find(std::string_view id) const {
  const auto found = by_id_.find(std::string(id));
  return found == by_id_.end() ? nullptr : found->second;
}

RecordPtr SandboxTable::find_name(const std::string& tenant, const std::string& name) const {
  const auto found = by_name_.find(Name(tenant, name));
  return found == by_name_.end() ? nullptr : found->second;
}

Result<RecordPtr> SandboxTable::get(const Caller& caller, std::string_view id_or_name) const {
  TRY(auto record, get_any(caller, id_or_name));
  if (record->lifecycle != Lifecycle::pooled) return record;
  // Whoever gets it must find it as if nobody had been there.
  return Error(Code::conflict,
               "sandbox " + record->id + " is nobody's: it waits in pool " + record->asked.pool)
      .with_hint("create one like it, and it is yours");
}

Result<RecordPtr> SandboxTable::get_any(const Caller& caller, std::string_view id_or_name) const {
  const std::string key(id_or_name);
  if (const auto found = by_id_.find(key); found != by_id_.end() && sees(caller, *found->second)) {
    return found->second;
  }
  if (auto named = find_name(caller.tenant, key); named && sees(caller, *named)) return named;
  if (const auto ended = epitaphs_.find(key);
      ended != epitaphs_.end() && sees(caller, ended->second.tenant, ended->second.owner, key)) {
    return Error(Code::not_found, "sandbox " + key + " " + ended->second.words);
  }
  return Error(Code::not_found, "no sandbox is called " + to_printable(id_or_name.substr(0, 80)))
      .with_hint("list the sandboxes that there are");
}

policy::Amounts SandboxTable::used() const {
  policy::Amounts used = used_;
  used -= used_by("");
  return used;
}

policy::Amounts SandboxTable::used_by(const std::string& tenant) const {
  const auto found = used_by_.find(tenant);
  return found == used_by_.end() ? policy::Amounts{} : found->second;
}

void SandboxTable::add_use(const std::string& tenant, const policy::Amounts& amounts) {
  const auto found = used_by_.emplace(tenant, policy::Amounts{}).first;
  found->second += amounts;
  if (found->second == policy::Amounts{}) used_by_.erase(found);
}

// What waits in a pool has limits of its own.
void SandboxTable::count_on_driver(SandboxRecord& record) {
  if (record.lifecycle == Lifecycle::pooled) return;
  record.counted_on = record.driver;
  used_on_[record.driver] += record.amounts;
}

void SandboxTable::move_driver(SandboxRecord& record) {
  if (record.counted_on.empty() || record.counted_on == record.driver) return;
  used_on_[record.counted_on] -= record.amounts;
  count_on_driver(record);
}

void SandboxTable::recount(SandboxRecord& record) {
  const auto amounts = policy::amounts_of(record.resources, assumed_);
  policy::Amounts change = amounts;
  change -= std::exchange(record.amounts, amounts);
  used_ += change;
  if (!record.counted_on.empty()) used_on_[record.counted_on] += change;
  if (!record.is_discounted) add_use(record.tenant, change);
}

void SandboxTable::discount(SandboxRecord& record) {
  if (!std::exchange(record.is_discounted, true)) add_use(record.tenant, record.amounts * -1);
}

void SandboxTable::count_again(SandboxRecord& record) {
  if (!by_id_.contains(record.id)) return;
  if (std::exchange(record.is_discounted, false)) add_use(record.tenant, record.amounts);
}

std::vector<RecordPtr> SandboxTable::all() const {
  std::vector<RecordPtr> records;
  records.reserve(by_age_.size());
  for (const auto& [age, record] : by_age_) records.push_back(record);
  return records;
}

Result<SandboxPage> SandboxTable::list(const Caller& caller, const ListFilter& filter) const {
  if (filter.limit == 0 || filter.limit > kLargestPage) {
    return Error(Code::invalid_argument, "limit: it is between 1 and 1000");
  }
  const std::string& tenant = filter.tenant.empty() ? caller.tenant : filter.tenant;
  if (tenant != caller.tenant && caller.role != Role::admin) {
    return Error(Code::permission_denied,
                 "tenant: another tenant's sandboxes are an admin's to list")
        .with_hint("leave it out to list your own");
  }
  auto at = by_age_.begin();
  if (!filter.cursor.empty()) {
    TRY(const auto last, parse_cursor(filter.cursor));
    at = by_age_.upper_bound(last);
  }
  SandboxPage page;
  for (; at != by_age_.end(); ++at) {
    const SandboxRecord& record = *at->second;
    if (tenant != "*" && record.tenant != tenant) continue;
    if (!sees(caller, record) || !matches(record, filter)) continue;
    // Its run has been answered for, or is about to be, and it is only cleared away.
    if (record.lifecycle == Lifecycle::ephemeral && record.state == State::stopping) continue;
    if (page.sandboxes.size() == filter.limit) {
      const SandboxView& last = page.sandboxes.back();
      page.next_cursor = std::to_string(last.created_at.time_since_epoch().count()) + "-" + last.id;
      break;
    }
    page.sandboxes.push_back(record.view());
  }
  return page;
}

}  // namespace atl
