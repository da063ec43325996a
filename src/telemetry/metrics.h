// The catalogue: every metric of Atoll, declared here and nowhere else.
//
// Wiring makes one Metrics and passes it by reference; GET /metrics is render(). Labels name
// routes, drivers, states and outcomes, never ids, names or tenants: those have no end.
#pragma once

#include <string>
#include <string_view>

#include "telemetry/metric.h"

namespace atl::telemetry {

inline constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

class Metrics final {
  Catalogue all_;  // first, because every member below adds itself

 public:
  Metrics() = default;
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // `route` is the pattern ("/v1/sandboxes/{id}"), never the path; what matched none is "none".
  Family<Counter, 3> http_requests{
      all_, "atoll_http_requests_total", "HTTP requests answered.", {"method", "route", "status"}};
  Family<Histogram, 1> http_request_duration{all_,
                                             "atoll_http_request_duration_seconds",
                                             "From the request's last byte to the answer's.",
                                             {"route"}};
  Family<Gauge, 0> open_connections{
      all_, "atoll_http_open_connections", "Client connections that are open now.", {}};

  Family<Gauge, 1> sandboxes{all_, "atoll_sandboxes", "Sandboxes that exist now.", {"state"}};
  Family<Gauge, 1> snapshots{all_, "atoll_snapshots", "Snapshots that are kept now.", {"state"}};
  // `outcome` is "ok" or the error's code.
  Family<Counter, 2> creates{
      all_, "atoll_sandbox_creates_total", "Sandboxes that were asked for.", {"driver", "outcome"}};
  Family<Histogram, 1> create_duration{all_,
                                       "atoll_sandbox_create_duration_seconds",
                                       "From the request to a running sandbox.",
                                       {"driver"}};
  // Whether a driver answers its probes, as the router sees it (core/driver_health.h).
  Family<Gauge, 1> driver_healthy{
      all_,
      "atoll_driver_healthy",
      "1 while a driver answers, 0 while it does not or not again long enough.",
      {"driver"}};
  // `outcome` is "ok", "late" for one that did not answer in time, or the error's code.
  Family<Counter, 2> driver_probes{all_,
                                   "atoll_driver_probes_total",
                                   "Drivers that were asked whether they are there.",
                                   {"driver", "outcome"}};
  Family<Gauge, 1> driver_circuit_open{
      all_,
      "atoll_driver_circuit_open",
      "1 while a driver is left alone because it failed to create, 0 otherwise.",
      {"driver"}};
  // `outcome` is "taken", or "refused" when the budget was used up; `driver` is the one that
  // failed.
  Family<Counter, 2> create_failovers{all_,
                                      "atoll_create_failovers_total",
                                      "Creates that went on to another driver.",
                                      {"driver", "outcome"}};
  // `reason` as in an exec's result: exited, signaled, timeout, oom, killed, policy, infra.
  Family<Counter, 2> execs{all_, "atoll_execs_total", "Commands that ended.", {"driver", "reason"}};
  Family<Histogram, 1> exec_duration{
      all_, "atoll_exec_duration_seconds", "From start to end of a command.", {"driver"}};
  // What commands used, as far as the driver can tell.
  Family<TimeCounter, 1> exec_cpu{all_,
                                  "atoll_exec_cpu_seconds_total",
                                  "Processor time that commands used, user and system.",
                                  {"driver"}};
  Family<SizeHistogram, 1> exec_peak_memory{
      all_, "atoll_exec_peak_memory_bytes", "Most memory that a command had at once.", {"driver"}};
  Family<Counter, 1> exec_output{all_,
                                 "atoll_exec_output_bytes_total",
                                 "Bytes that commands wrote to stdout and stderr.",
                                 {"driver"}};
  // What is done with a sandbox; `operation` is a verb of ours (pause, destroy, read_file, …),
  // `outcome` "ok" or the error's code.
  Family<Counter, 3> operations{all_,
                                "atoll_operations_total",
                                "Operations on sandboxes that ended.",
                                {"driver", "operation", "outcome"}};
  Family<Histogram, 2> operation_duration{all_,
                                          "atoll_operation_duration_seconds",
                                          "From the beginning to the end of an operation.",
                                          {"driver", "operation"}};
  // How long sandboxes existed: with the processor time, what a driver's use is priced by.
  Family<TimeCounter, 1> sandbox_time{all_,
                                      "atoll_sandbox_seconds_total",
                                      "How long the sandboxes existed that have ended.",
                                      {"driver"}};
  // `queue`: calls (under way in the engine), turns (calls that wait for another on the same
  // sandbox), admission (creates and runs that wait for their turn), cleanup (sandboxes of runs
  // that are over), store (writes under way), export (spans).
  Family<Gauge, 1> queue_length{
      all_, "atoll_queue_length", "What waits to be done, by queue.", {"queue"}};
  // `outcome`: at_once, waited, and refused by quota, rate, full (the queue, or no wish to wait),
  // timeout, left (whoever asked went away), policy.
  Family<Counter, 1> admissions{all_,
                                "atoll_admissions_total",
                                "Creates and runs that asked for a place, by what became of them.",
                                {"outcome"}};
  Family<Histogram, 0> queue_wait{
      all_, "atoll_queue_wait_seconds", "How long creates and runs waited for their turn.", {}};
  Family<Counter, 0> expirations{all_,
                                 "atoll_sandbox_expirations_total",
                                 "Sandboxes that the reaper ended at their TTL or idle limit.",
                                 {}};
  // `why` is idle or expired, `outcome` "ok" or the error's code.
  Family<Counter, 2> rests{all_,
                           "atoll_sandbox_rests_total",
                           "Sandboxes that were stopped or paused at their TTL or idle limit.",
                           {"why", "outcome"}};
  Family<Counter, 2> recoveries{all_,
                                "atoll_sandbox_recoveries_total",
                                "Sandboxes that had failed and were made anew.",
                                {"driver", "outcome"}};
  // `health` is unresponsive, recovering or failed.
  Family<Gauge, 1> unhealthy{
      all_, "atoll_sandboxes_unhealthy", "Sandboxes that are not well now.", {"health"}};
  Family<Counter, 1> swept_orphans{all_,
                                   "atoll_swept_orphans_total",
                                   "Leftovers that no record owned and the sweeper destroyed.",
                                   {"driver"}};

  // Of what drivers make ahead by themselves, as they count it. `outcome` is "hit" or "miss"; an
  // interpreter that was not waiting is a miss of its own.
  Family<Counter, 2> parked_requests{all_,
                                     "atoll_parked_requests_total",
                                     "Requests for a sandbox of a kind that a driver makes ahead.",
                                     {"driver", "outcome"}};
  Family<Gauge, 1> parked_sandboxes{
      all_,
      "atoll_parked_sandboxes",
      "Sandboxes that drivers have made ahead, which are nobody's yet.",
      {"driver"}};
  // `outcome` is "hit" or "miss".
  Family<Counter, 2> pool_requests{all_,
                                   "atoll_pool_requests_total",
                                   "Requests for a sandbox of which a pool has some ready.",
                                   {"driver", "outcome"}};
  Family<Histogram, 2> pool_wait{all_,
                                 "atoll_pool_wait_seconds",
                                 "From such a request to a running sandbox.",
                                 {"driver", "outcome"}};
  // `outcome` is "ok" or the error's code; `driver` is "none" when it was not even chosen.
  Family<Counter, 2> pool_fills{all_,
                                "atoll_pool_fills_total",
                                "Sandboxes that were to be made ahead.",
                                {"driver", "outcome"}};
  Family<Histogram, 1> pool_fill_duration{all_,
                                          "atoll_pool_fill_duration_seconds",
                                          "How long it took to make a sandbox ahead.",
                                          {"driver"}};
  // `state` is "ready" or "filling".
  Family<Gauge, 1> pool_sandboxes{
      all_, "atoll_pool_sandboxes", "Sandboxes in pools, which are nobody's yet.", {"state"}};

  // `durability` is "boot" (not waiting for the disk) or "disk".
  Family<Counter, 1> store_commits{
      all_, "atoll_store_commits_total", "Transactions that the store committed.", {"durability"}};
  Family<Histogram, 1> store_commit_duration{all_,
                                             "atoll_store_commit_duration_seconds",
                                             "From handing a write over to its commit.",
                                             {"durability"}};
  // `outcome`: sent, rejected (the collector refused them), lost (it could not be reached), dropped
  // (more than the queue holds).
  Family<Counter, 1> exported_spans{all_,
                                    "atoll_exported_spans_total",
                                    "Spans for the OTLP collector, by what became of them.",
                                    {"outcome"}};
  Family<Counter, 0> launcher_reconnects{
      all_,
      "atoll_launcher_reconnects_total",
      "Times that the daemon lost the launcher and found it again.",
      {}};

  // Everything in Prometheus text format 0.0.4, in the order of this page.
  std::string render() const;
};

}  // namespace atl::telemetry
