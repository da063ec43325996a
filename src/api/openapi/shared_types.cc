#include "api/openapi/requests.h"
#include "core/request_check.h"
#include "driver/exec.h"
#include "driver/file_tools.h"
#include "driver/guest.h"
#include "template/image_layout.h"

namespace atl::api::openapi {
namespace {

constexpr Field kResources[] = {
    {"cpu", "Cores.", {.most = kMostCpu}, R"({"exclusiveMinimum":0})"},
    {"memory_mb", "MiB.", {.least = 1, .most = kMostMemoryMb}},
    {"pids", "Processes and threads.", {.least = 1, .most = kMostPids}},
    {"disk_mb",
     "MiB. On native, more than 1024 or half of memory_mb is on disk.",
     {.least = 1, .most = kMostDiskMb}},
    {"cpu_weight",
     "Its part of busy processors; 100 is usual. Makes the sandbox burstable.",
     {.least = 1, .most = kMostCpuWeight}},
    {"sharing",
     "Whose the processors are. shared: everybody's, in equal parts under load. "
     "limited: the same, with a ceiling that is there. burstable: by "
     "`cpu_weight` under load, with `cpu` as a ceiling if it is given. dedicated: `cpu` whole "
     "processors are this sandbox's alone, and `memory_mb` is kept for it. Settled when the "
     "sandbox "
     "is made."},
};

}  // namespace

void add_shared_types(Schemas& schemas) {
  schemas.add<Resources, kResources>();
  schemas.add_names<Isolation>("Isolation", "Ordered, weakest first.");
  schemas.add_names<Placement>(
      "Placement", "On this host, on machines of the operator's, or at somebody else's.");
  schemas.add_names<policy::Strategy>(
      "Strategy", "In which order drivers are asked that would all do; never whether one does.");
  schemas.add_names<State>("State", "Of a sandbox.");
  schemas.add_names<OnEnd>(
      "OnEnd",
      "What becomes of a sandbox whose time is up or that nobody uses. `kill`: "
      "nothing of it is left. `stop`: its processes end, its files stay. "
      "`pause`: its processes stand still.");
  schemas.add_names<SessionScope>("SessionScope",
                                  "Who shares the sandbox of a session: nobody, all sessions of an "
                                  "agent, of a workspace, or of "
                                  "the tenant.");
  schemas.add_names<OnFailure>("OnFailure",
                               "What becomes of a sandbox that dies or does not answer.");
  schemas.add_names<Role>(
      "Role",
      "`admin`: everything. `member`: all sandboxes of its tenant. `viewer`: what there is in its "
      "tenant and how it does, no contents, no changes. `agent`: makes sandboxes in its tenant and "
      "sees those that it made.");
  schemas.add_names<Action>(
      "Action", "What a call is for; `x-action` of each operation names the one that it needs.");
  schemas.add_names<ExitReason>("ExitReason", "How a command ended.");
  schemas.add_names<UsageScope>("UsageScope",
                                "Whose use it is: of what was waited for, or of the whole cgroup.");
  schemas.add_names<FileKind>("FileKind", "");
  schemas.add_names<TemplateKind>("TemplateKind", "What it was made from.");
  schemas.add_names<ChangeKind>("ChangeKind", "");
}

}  // namespace atl::api::openapi
