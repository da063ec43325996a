// Creator::admit: before something is made, a judge outside is asked, if there is one, and a place
// is taken or waited for.
#include "base/ids.h"
#include "core/changer.h"
#include "core/creator.h"
#include "core/question.h"
#include "core/router.h"
#include "policy/judge.h"
#include "telemetry/metrics.h"

namespace atl {
namespace {

void count_refusal(telemetry::Metrics& metrics, const Result<>& decided) {
  if (!decided) metrics.admissions.at("policy").add();
}

}  // namespace

Task<Creator::Entry> Creator::admit(const Caller& caller, const CreateRequest& request,
                                    Lifecycle lifecycle, telemetry::StageTimer& timer) {
  auto entry = co_await try_admit(caller, request, lifecycle, timer);
  if (entry || entry.error().stage() != "route") co_return entry;
  co_return refuse(caller, request, lifecycle, timer, "", std::move(entry).error());
}

Task<Creator::Entry> Creator::try_admit(const Caller& caller, const CreateRequest& request,
                                        Lifecycle lifecycle, telemetry::StageTimer& timer) {
  Entry entry;
  if (const auto judge = parts_.options.judge) {
    CO_TRY(const auto route,
           at_stage("route", find_route(parts_.drivers, wish_of(caller, request))));
    const bool is_run = lifecycle == Lifecycle::ephemeral;
    std::vector<JudgedDriver> judged;
    judged.reserve(route.size());
    for (const DriverSlot* slot : route) {
      const Capabilities& can = *slot->capabilities;
      judged.push_back({slot->name(), isolation_of(can, to_wish(request)), can.placement});
    }
    auto decided =
        co_await judge->decide(to_question(caller, is_run ? "run" : "create", request, route));
    count_refusal(parts_.metrics, decided);
    if (!decided) co_return std::move(decided).error();
    timer.mark("policy");
    entry.has_waited = true;
    entry.judged = std::move(judged);
  }
  const auto amounts = parts_.admission.amounts_of(request.resources);
  CO_TRY(auto place, parts_.admission.try_enter(caller.tenant, amounts));
  if (place) {
    entry.place = *std::move(place);
    co_return entry;
  }
  CO_TRY(entry, co_await wait_for_turn(caller, request, lifecycle, std::move(entry)));
  timer.mark("queue");
  co_return entry;
}

Task<Creator::Entry> Creator::wait_for_turn(const Caller& caller, const CreateRequest& request,
                                            Lifecycle lifecycle, Entry entry) {
  // Nobody waits for what no driver would make.
  RouteWish wish = wish_of(caller, request);
  wish.judged = entry.judged;
  CO_TRY_OK(at_stage("route", find_route(parts_.drivers, wish)));

  entry.has_waited = true;
  // One that somebody can look for is called the same before and after; others may be one that is
  // ready already, which has its own.
  if (lifecycle == Lifecycle::session || !request.name.empty()) entry.id = make_sandbox_id();
  Admission::Ask ask;
  ask.amounts = parts_.admission.amounts_of(request.resources);
  ask.timeout = request.queue_timeout;
  ask.stop = request.stop;
  ask.lifecycle = lifecycle;
  ask.view.id = entry.id;
  ask.view.name = request.name;
  ask.view.tenant = caller.tenant;
  ask.view.owner = caller.subject;
  ask.view.driver = request.driver;
  ask.view.profile = request.profile;
  ask.view.user_id = request.user_id;
  ask.view.labels = request.labels;
  ask.view.resources = request.resources;
  ask.view.defaults = request.defaults;
  ask.view.template_name = request.template_name;
  ask.view.image = request.image;
  ask.view.runtime = request.runtime;
  ask.view.persistence = request.persistence;
  ask.view.network = request.network.value_or(Network::none);
  ask.view.snapshot = request.snapshot;
  ask.view.idle = request.idle;
  ask.view.created_at = parts_.clock.wall();
  ask.view.last_active_at = ask.view.created_at;
  CO_TRY(entry.place, co_await parts_.admission.wait(std::move(ask)));
  co_return entry;
}

Task<> Changer::ask_judge(Caller caller, std::string action, RecordPtr record, Resources resources,
                          size_t count) {
  const auto judge = parts_.options.judge;
  if (!judge) co_return Result<>();
  auto decided = co_await judge->decide(to_question(caller, action, *record, resources, count));
  count_refusal(parts_.metrics, decided);
  co_return decided;
}

}  // namespace atl
