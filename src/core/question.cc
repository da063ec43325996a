#include "core/question.h"

#include "core/router.h"
#include "json/encode.h"

namespace atl {
namespace {

struct WhoAsks {
  std::string tenant;
  std::string subject;
  Role role = Role::member;
};
BOOST_DESCRIBE_STRUCT(WhoAsks, (), (tenant, subject, role))

struct OnDriver {
  std::string name;
  Isolation isolation = Isolation::none;
  Placement placement = Placement::host;
};
BOOST_DESCRIBE_STRUCT(OnDriver, (), (name, isolation, placement))

struct WhatIsAsked {
  std::string id;  // of the one that is forked or resized; "" = of none yet
  std::string name;
  std::string user_id;
  std::string profile;
  std::string driver;  // that the request names; "" = any of `drivers`
  std::vector<OnDriver> drivers;
  std::optional<Isolation> min_isolation;
  Resources resources;
  std::string image;
  std::string template_;
  std::string runtime;
  std::string snapshot;
  Persistence persistence = Persistence::ephemeral;
  Network network = Network::none;
  bool engine_socket = false;
  std::map<std::string, std::string> labels;
  std::optional<int64_t> ttl_s;
  std::vector<AskedDirectory> host_dirs;
};
BOOST_DESCRIBE_STRUCT(WhatIsAsked, (),
                      (id, name, user_id, profile, driver, drivers, min_isolation, resources, image,
                       template_, runtime, snapshot, persistence, network, engine_socket, labels,
                       ttl_s, host_dirs))

struct Question {
  std::string action;
  WhoAsks caller;
  WhatIsAsked sandbox;
  size_t count = 1;
};
BOOST_DESCRIBE_STRUCT(Question, (), (action, caller, sandbox, count))

WhatIsAsked from_asked(const Asked& asked) {
  WhatIsAsked what;
  what.user_id = asked.user_id;
  what.profile = asked.profile;
  what.driver = asked.driver;
  what.min_isolation = asked.min_isolation;
  what.resources = asked.resources;
  what.image = asked.image;
  what.template_ = asked.template_;
  what.runtime = asked.runtime;
  what.snapshot = asked.snapshot;
  what.persistence = asked.persistence;
  what.network = asked.network;
  what.engine_socket = asked.engine_socket;
  what.labels = asked.labels;
  what.ttl_s = asked.ttl_s;
  what.host_dirs = asked.mounts;
  if (asked.workspace) what.host_dirs.push_back(*asked.workspace);
  if (asked.root && asked.template_.empty()) what.host_dirs.push_back(*asked.root);
  return what;
}

std::string encode(const Caller& caller, std::string_view action, WhatIsAsked what, size_t count) {
  Question question;
  question.action = action;
  question.caller = {caller.tenant, caller.subject, caller.role};
  question.sandbox = std::move(what);
  question.count = count;
  return json::encode(question);
}

}  // namespace

std::string to_question(const Caller& caller, std::string_view action, const CreateRequest& request,
                        const std::vector<DriverSlot*>& route) {
  WhatIsAsked what = from_asked(to_asked(request));
  what.name = request.name;
  for (const DriverSlot* slot : route) {
    what.drivers.push_back({slot->name(), isolation_of(*slot->capabilities, to_wish(request)),
                            slot->capabilities->placement});
  }
  return encode(caller, action, std::move(what), 1);
}

std::string to_question(const Caller& caller, std::string_view action, const SandboxRecord& record,
                        const Resources& resources, size_t count) {
  WhatIsAsked what = from_asked(record.asked);
  what.id = record.id;
  what.name = record.name;
  what.resources = resources;
  what.drivers = {{record.driver, record.isolation, record.placement}};
  return encode(caller, action, std::move(what), count);
}

}  // namespace atl
