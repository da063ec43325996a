// Where the requests of each resource are described: beside the structs that they are decoded into.
#pragma once

#include "api/openapi/schemas.h"

namespace atl::api::openapi {

// What several requests have in common, and the names that answers use too.
void add_shared_types(Schemas& schemas);

}  // namespace atl::api::openapi

namespace atl::api::v1 {

void describe_archive_requests(openapi::Schemas& schemas);    // archives.cc
void describe_batch_requests(openapi::Schemas& schemas);      // batch.cc
void describe_daemon_requests(openapi::Schemas& schemas);     // health.cc
void describe_exec_requests(openapi::Schemas& schemas);       // exec_wire.cc
void describe_file_requests(openapi::Schemas& schemas);       // files.cc
void describe_key_requests(openapi::Schemas& schemas);        // keys.cc
void describe_lifecycle_requests(openapi::Schemas& schemas);  // lifecycle.cc
void describe_pool_requests(openapi::Schemas& schemas);       // pools.cc
void describe_process_requests(openapi::Schemas& schemas);    // processes.cc
void describe_run_requests(openapi::Schemas& schemas);        // runs.cc
void describe_sandbox_requests(openapi::Schemas& schemas);    // sandbox_wire.cc
void describe_session_requests(openapi::Schemas& schemas);    // sessions.cc
void describe_snapshot_requests(openapi::Schemas& schemas);   // snapshots.cc

}  // namespace atl::api::v1
