#include "api/route.h"
#include "api/v1/handlers.h"

namespace atl::api {
namespace {

using enum net::Method;

constexpr Route kRoutes[] = {
    {get, "/v1/sandboxes/{id}", Action::look, v1::get_sandbox, "", Answer::whole,
     Traced::when_asked},
    {delete_, "/v1/sandboxes/{id}", Action::manage, v1::delete_sandbox, "discard"},
    {post, "/v1/sandboxes/{id}/exec", Action::use, v1::exec, "on_disconnect"},
    {get, "/v1/sandboxes/{id}/exec", Action::use, v1::exec_socket, "on_disconnect",
     Answer::streams},
    {post, "/v1/runs", Action::create, v1::run},
    {post, "/v1/runs:batch", Action::create, v1::run_batch},

    {post, "/v1/sandboxes", Action::create, v1::create_sandbox},
    {post, "/v1/sandboxes:explain", Action::create, v1::explain_sandbox},
    {patch, "/v1/sandboxes/{id}", Action::manage, v1::patch_sandbox},
    {get, "/v1/sandboxes", Action::look, v1::list_sandboxes,
     "state driver name user_id label* tenant limit cursor", Answer::whole, Traced::when_asked},
    {get, "/v1/sandboxes/{id}/stats", Action::look, v1::sandbox_stats, "", Answer::whole,
     Traced::when_asked},
    {get, "/v1/sandboxes/{id}/start", Action::look, v1::sandbox_start, "", Answer::whole,
     Traced::when_asked},

    {post, "/v1/sandboxes/{id}/stop", Action::manage, v1::stop_sandbox},
    {post, "/v1/sandboxes/{id}/start", Action::manage, v1::start_sandbox},
    {post, "/v1/sandboxes/{id}/recreate", Action::manage, v1::recreate_sandbox},
    {post, "/v1/sandboxes/{id}/renew", Action::manage, v1::renew_sandbox},
    {post, "/v1/sandboxes/{id}/pause", Action::manage, v1::pause_sandbox},
    {post, "/v1/sandboxes/{id}/resume", Action::manage, v1::resume_sandbox},
    {post, "/v1/sandboxes/{id}/reset", Action::manage, v1::reset_sandbox},
    {post, "/v1/sandboxes/{id}/release", Action::manage, v1::release_sandbox},
    {post, "/v1/sandboxes/{id}/snapshot", Action::create, v1::snapshot_sandbox},
    {post, "/v1/sandboxes/{id}/snapshots", Action::create, v1::create_snapshot},
    {post, "/v1/sandboxes/{id}/fork", Action::create, v1::fork_sandbox},
    {post, "/v1/sandboxes/{id}/resize", Action::manage, v1::resize_sandbox},

    {get, "/v1/sandboxes/{id}/files", Action::read, v1::read_file, "path path_b64"},
    {put, "/v1/sandboxes/{id}/files", Action::use, v1::write_file,
     "path path_b64 mode parents upload offset size"},
    {delete_, "/v1/sandboxes/{id}/files", Action::use, v1::delete_file, "path path_b64 recursive"},
    {get, "/v1/sandboxes/{id}/files/list", Action::look, v1::list_files, "path path_b64"},
    {get, "/v1/sandboxes/{id}/files/stat", Action::look, v1::stat_file, "path path_b64"},
    {post, "/v1/sandboxes/{id}/files/mkdir", Action::use, v1::make_directory},
    {post, "/v1/sandboxes/{id}/files/move", Action::use, v1::move_file},
    {post, "/v1/sandboxes/{id}/files/remove", Action::use, v1::remove_file},

    {get, "/v1/sandboxes/{id}/files/uploads", Action::look, v1::upload_status,
     "path path_b64 upload"},
    {get, "/v1/sandboxes/{id}/files/find", Action::look, v1::find_files,
     "path path_b64 name kind depth limit timeout_ms"},
    {get, "/v1/sandboxes/{id}/files/grep", Action::read, v1::grep_files,
     "path path_b64 pattern fixed ignore_case include limit timeout_ms"},
    {get, "/v1/sandboxes/{id}/files/watch", Action::look, v1::watch_files,
     "path path_b64 recursive", Answer::streams},
    {get, "/v1/sandboxes/{id}/files/tar", Action::read, v1::read_archive, "path path_b64 all_links",
     Answer::streams},
    {put, "/v1/sandboxes/{id}/files/tar", Action::use, v1::write_archive, "path path_b64"},
    {post, "/v1/sandboxes/{id}/files/batch", Action::use, v1::write_batch, "path path_b64"},

    {get, "/v1/sandboxes/{id}/diff", Action::look, v1::diff_sandbox, "path path_b64"},

    {get, "/v1/sandboxes/{id}/processes", Action::look, v1::list_processes, "", Answer::whole,
     Traced::when_asked},
    {get, "/v1/sandboxes/{id}/processes/{process}/output", Action::read, v1::attach_output,
     "stdout_offset stderr_offset max_output_bytes on_disconnect", Answer::streams},
    {get, "/v1/sandboxes/{id}/processes/{process}/attach", Action::use, v1::attach_socket,
     "stdout_offset stderr_offset on_disconnect", Answer::streams},
    {post, "/v1/sandboxes/{id}/processes/{process}/stdin", Action::use, v1::write_stdin, "eof",
     Answer::whole, Traced::when_asked},
    {post, "/v1/sandboxes/{id}/processes/{process}/signal", Action::use, v1::signal_process, "",
     Answer::whole, Traced::when_asked},
    {post, "/v1/sandboxes/{id}/processes/{process}/resize", Action::use, v1::resize_process, "",
     Answer::whole, Traced::when_asked},
    {get, "/v1/sandboxes/{id}/logs", Action::read, v1::read_logs, "process stream tail follow",
     Answer::streams},

    {get, "/v1/sandboxes/{id}/ports/{port}", Action::use, v1::dial_port, "", Answer::streams},

    {post, "/v1/sandboxes/{id}/token", Action::delegate, v1::make_token},

    {get, "/v1/traces", Action::look, v1::list_traces, "sandbox request limit", Answer::whole,
     Traced::when_asked},
    {get, "/v1/traces/{trace}", Action::look, v1::get_trace, "", Answer::whole, Traced::when_asked},

    {get, "/v1/events", Action::look, v1::read_events, "after sandbox state runs limit",
     Answer::streams, Traced::when_asked},

    {get, "/v1/snapshots", Action::look, v1::list_snapshots, "sandbox", Answer::whole,
     Traced::when_asked},
    {get, "/v1/snapshots/{snapshot}", Action::look, v1::get_snapshot, "", Answer::whole,
     Traced::when_asked},
    {delete_, "/v1/snapshots/{snapshot}", Action::manage, v1::delete_snapshot},

    {get, "/v1/pools", Action::measure, v1::list_pools, "", Answer::whole, Traced::when_asked},
    {post, "/v1/pools", Action::administer, v1::create_pool},
    {get, "/v1/pools/{pool}", Action::measure, v1::get_pool, "", Answer::whole, Traced::when_asked},
    {patch, "/v1/pools/{pool}", Action::administer, v1::change_pool},
    {delete_, "/v1/pools/{pool}", Action::administer, v1::delete_pool},
    {post, "/v1/pools/{pool}/drain", Action::administer, v1::drain_pool},
    {post, "/v1/pools/{pool}/acquire", Action::create, v1::acquire_sandbox},
    {post, "/v1/sessions", Action::create, v1::open_session},
    {get, "/v1/sessions", Action::look, v1::list_sessions, "", Answer::whole, Traced::when_asked},
    {get, "/v1/sessions/{session}", Action::look, v1::get_session, "", Answer::whole,
     Traced::when_asked},
    {post, "/v1/sessions/{session}/renew", Action::manage, v1::renew_session},
    {delete_, "/v1/sessions/{session}", Action::manage, v1::close_session},

    {get, "/v1/templates", Action::survey, v1::list_templates, "", Answer::whole,
     Traced::when_asked},
    {get, "/v1/templates/{name}", Action::survey, v1::get_template, "", Answer::whole,
     Traced::when_asked},
    {put, "/v1/templates/{name}", Action::administer, v1::put_template},
    {delete_, "/v1/templates/{name}", Action::administer, v1::delete_template},
    {post, "/v1/templates/{name}/rollback", Action::administer, v1::roll_back_template},

    {get, "/v1/profiles", Action::survey, v1::list_profiles, "", Answer::whole, Traced::when_asked},
    {get, "/v1/profiles/{name}", Action::survey, v1::get_profile, "", Answer::whole,
     Traced::when_asked},
    {post, "/v1/plan", Action::create, v1::plan, "as"},

    {post, "/v1/keys", Action::administer, v1::create_key},
    {get, "/v1/keys", Action::administer, v1::list_keys, "", Answer::whole, Traced::when_asked},
    {delete_, "/v1/keys/{key}", Action::administer, v1::revoke_key},
    {get, "/v1/whoami", Action::know, v1::who_am_i, "", Answer::whole, Traced::when_asked},
    {get, "/v1/limits", Action::know, v1::limits, "tenant", Answer::whole, Traced::when_asked},

    {get, "/v1/drivers", Action::survey, v1::list_drivers, "", Answer::whole, Traced::when_asked},
    {get, "/v1/version", Action::know, v1::version, "", Answer::whole, Traced::when_asked},
    {get, "/v1/openapi.json", Action::know, v1::describe_api, "", Answer::whole,
     Traced::when_asked},
    {post, "/v1/shutdown", Action::administer, v1::shut_down},

    {get, "/healthz", Action::open, v1::healthz, "", Answer::whole, Traced::when_asked},
    {get, "/readyz", Action::open, v1::readyz, "", Answer::whole, Traced::when_asked},
    {get, "/metrics", Action::measure, v1::metrics, "", Answer::whole, Traced::when_asked},
};

}  // namespace

std::span<const Route> all_routes() { return kRoutes; }

}  // namespace atl::api
