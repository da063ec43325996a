// What serves each route, by resource; routes.cc says which path leads where.
#pragma once

#include "api/call.h"

namespace atl::api::v1 {

// sandboxes.cc
Task<> create_sandbox(Call& call);
Task<> explain_sandbox(Call& call);
Task<> list_sandboxes(Call& call);
Task<> get_sandbox(Call& call);
Task<> delete_sandbox(Call& call);
Task<> sandbox_stats(Call& call);
Task<> sandbox_start(Call& call);

// lifecycle.cc
Task<> stop_sandbox(Call& call);
Task<> start_sandbox(Call& call);
Task<> recreate_sandbox(Call& call);
Task<> renew_sandbox(Call& call);
Task<> pause_sandbox(Call& call);
Task<> resume_sandbox(Call& call);
Task<> reset_sandbox(Call& call);
Task<> fork_sandbox(Call& call);
Task<> resize_sandbox(Call& call);
Task<> patch_sandbox(Call& call);

// snapshots.cc
Task<> snapshot_sandbox(Call& call);
Task<> create_snapshot(Call& call);
Task<> list_snapshots(Call& call);
Task<> get_snapshot(Call& call);
Task<> delete_snapshot(Call& call);

// pools.cc
Task<> list_pools(Call& call);
Task<> get_pool(Call& call);
Task<> create_pool(Call& call);
Task<> change_pool(Call& call);
Task<> drain_pool(Call& call);
Task<> delete_pool(Call& call);
Task<> acquire_sandbox(Call& call);
Task<> release_sandbox(Call& call);
// sessions.cc
Task<> open_session(Call& call);
Task<> list_sessions(Call& call);
Task<> get_session(Call& call);
Task<> renew_session(Call& call);
Task<> close_session(Call& call);

// exec.cc, exec_socket.cc, runs.cc, batch.cc
Task<> exec(Call& call);
Task<> exec_socket(Call& call);
Task<> attach_socket(Call& call);
Task<> run(Call& call);
Task<> run_batch(Call& call);

// files.cc
Task<> read_file(Call& call);
Task<> write_file(Call& call);
Task<> delete_file(Call& call);
Task<> list_files(Call& call);
Task<> stat_file(Call& call);
Task<> make_directory(Call& call);
Task<> move_file(Call& call);
Task<> remove_file(Call& call);

// uploads.cc
Task<> upload_status(Call& call);

// file_tools.cc
Task<> find_files(Call& call);
Task<> grep_files(Call& call);
Task<> watch_files(Call& call);

// archives.cc
Task<> read_archive(Call& call);
Task<> write_archive(Call& call);
Task<> write_batch(Call& call);

// diff.cc
Task<> diff_sandbox(Call& call);

// processes.cc, logs.cc
Task<> list_processes(Call& call);
Task<> attach_output(Call& call);
Task<> write_stdin(Call& call);
Task<> signal_process(Call& call);
Task<> resize_process(Call& call);
Task<> read_logs(Call& call);

// ports.cc
Task<> dial_port(Call& call);

// events.cc
Task<> read_events(Call& call);

// keys.cc, whoami.cc
Task<> create_key(Call& call);
Task<> list_keys(Call& call);
Task<> revoke_key(Call& call);
Task<> make_token(Call& call);
Task<> who_am_i(Call& call);
Task<> limits(Call& call);

// templates.cc
Task<> list_templates(Call& call);
Task<> get_template(Call& call);
Task<> put_template(Call& call);
Task<> roll_back_template(Call& call);
Task<> delete_template(Call& call);

// profiles.cc
Task<> list_profiles(Call& call);
Task<> get_profile(Call& call);
Task<> plan(Call& call);

// drivers.cc
Task<> list_drivers(Call& call);

// traces.cc
Task<> list_traces(Call& call);
Task<> get_trace(Call& call);

// openapi.cc
Task<> describe_api(Call& call);

// health.cc
Task<> healthz(Call& call);
Task<> readyz(Call& call);
Task<> metrics(Call& call);
Task<> version(Call& call);
Task<> shut_down(Call& call);

}  // namespace atl::api::v1
