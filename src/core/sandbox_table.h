// All live sandboxes, by id and by name, and a short memory of those that have ended.
#pragma once

#include <deque>
#include <map>
#include <string_view>
#include <unordered_map>

#include "core/event_log.h"
#include "core/sandbox_record.h"

namespace atl::telemetry {
class Metrics;
}

namespace atl {

class SandboxTable final {
 public:
  // `assumed` is what a sandbox counts that names no limit.
  SandboxTable(telemetry::Metrics& metrics, EventLog& events, policy::Amounts assumed = {})
      : metrics_(metrics), events_(events), assumed_(assumed) {}

  // The id, and the name if there is one, must be free.
  void insert(const RecordPtr& record);
  // Takes it out; `epitaph` is what later lookups are told ("was destroyed", "expired").
  void bury(const RecordPtr& record, std::string epitaph);
  // The same without a word: its id goes on as another record's.
  void forget(const RecordPtr& record);

  // Every change of state goes through here; an illegal one is a bug of ours.
  void move_to(SandboxRecord& record, State state);
  // Takes back a move that could not be journalled and so was not acted on.
  void take_back(SandboxRecord& record, State state);

  RecordPtr find(std::string_view id) const;
  RecordPtr find_name(const std::string& tenant, const std::string& name) const;
  // By id, or by name within the caller's tenant, and only what the caller sees; everything else is
  // not there. Code::not_found tells how it ended, if that is still known; Code::conflict that it
  // is in a pool, where nothing may be done in it.
  Result<RecordPtr> get(const Caller& caller, std::string_view id_or_name) const;
  // The same, and what is in a pool, too: to look at it, and to end it.
  Result<RecordPtr> get_any(const Caller& caller, std::string_view id_or_name) const;

  size_t size() const { return by_id_.size(); }
  // What all sandboxes have that are somebody's, and those of a tenant. What is parked in a pool
  // has limits of its own.
  policy::Amounts used() const;
  policy::Amounts used_by(const std::string& tenant) const;
  // What those on this driver have that are somebody's. The reference stays good.
  const policy::Amounts& used_on(const std::string& driver) { return used_on_[driver]; }
  // After it has gone to another driver; nothing for one that is not in the table.
  void move_driver(SandboxRecord& record);
  // After its resources have changed.
  void recount(SandboxRecord& record);
  // Its tenant does not answer for it any more, because it is only cleared away; and does again.
  void discount(SandboxRecord& record);
  void count_again(SandboxRecord& record);
  // A copy, so that the table may change meanwhile. Oldest first.
  std::vector<RecordPtr> all() const;
  // Code::invalid_argument for a limit of zero or over 1,000, or a cursor that no page gave;
  // Code::permission_denied for another tenant's, unless an admin asks.
  Result<SandboxPage> list(const Caller& caller, const ListFilter& filter) const;

 private:
  void set_state(SandboxRecord& record, State state);
  void add_use(const std::string& tenant, const policy::Amounts& amounts);
  void count_on_driver(SandboxRecord& record);

  using Name = std::pair<std::string, std::string>;
  using Age = std::pair<int64_t, std::string>;  // created_at and id: the order of pages

  struct Epitaph {
    std::string tenant;
    std::string owner;
    std::string words;
  };

  telemetry::Metrics& metrics_;
  EventLog& events_;
  std::unordered_map<std::string, RecordPtr> by_id_;
  std::map<Name, RecordPtr> by_name_;
  std::map<Age, RecordPtr> by_age_;
  const policy::Amounts assumed_;
  policy::Amounts used_;
  std::unordered_map<std::string, policy::Amounts> used_by_;  // by tenant
  std::map<std::string, policy::Amounts> used_on_;            // by driver
  std::unordered_map<std::string, Epitaph> epitaphs_;
  std::deque<std::string> buried_;
};

}  // namespace atl
