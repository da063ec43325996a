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
  SandboxTable(telemetry::Metrics& metrics, EventLog& events)
      : metrics_(metrics), events_(events) {}

  // The id, and the name if there is one, must be free.
  void insert(const RecordPtr& record);
  // Takes it out; `epitaph` is what later lookups are told ("was destroyed", "expired").
  void bury(const RecordPtr& record, std::string epitaph);

  // Every change of state goes through here; an illegal one is a bug of ours.
  void move_to(SandboxRecord& record, State state);
  // Takes back a move that could not be journalled and so was not acted on.
  void take_back(SandboxRecord& record, State state);

  RecordPtr find(std::string_view id) const;
  RecordPtr find_name(const std::string& tenant, const std::string& name) const;
  // By id, or by name within the caller's tenant, and only what the caller sees; everything else is
  // not there. Code::not_found tells how it ended, if that is still known.
  Result<RecordPtr> get(const Caller& caller, std::string_view id_or_name) const;

  size_t size() const { return by_id_.size(); }
  size_t count_of(const std::string& tenant) const;
  // A copy, so that the table may change meanwhile. Oldest first.
  std::vector<RecordPtr> all() const;
  // Code::invalid_argument for a limit of zero or over 1,000, or a cursor that no page gave;
  // Code::permission_denied for another tenant's, unless an admin asks.
  Result<SandboxPage> list(const Caller& caller, const ListFilter& filter) const;

 private:
  void set_state(SandboxRecord& record, State state);

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
  std::unordered_map<std::string, size_t> counts_;  // by tenant
  std::unordered_map<std::string, Epitaph> epitaphs_;
  std::deque<std::string> buried_;
};

}  // namespace atl
