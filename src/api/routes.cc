#include "api/route.h"
#include "api/v1/handlers.h"

namespace atl::api {
namespace {

using enum net::Method;

constexpr Route kRoutes[] = {
    {get, "/v1/sandboxes/{id}", Access::key, v1::get_sandbox},
    {delete_, "/v1/sandboxes/{id}", Access::key, v1::delete_sandbox},
    {post, "/v1/sandboxes/{id}/exec", Access::key, v1::exec, "on_disconnect"},
    {get, "/v1/sandboxes/{id}/exec", Access::key, v1::exec_socket, "on_disconnect",
     Answer::streams},
    {post, "/v1/runs", Access::key, v1::run},
    {post, "/v1/runs:batch", Access::key, v1::run_batch},

    {post, "/v1/sandboxes", Access::key, v1::create_sandbox},
    {post, "/v1/sandboxes:explain", Access::key, v1::explain_sandbox},
    {patch, "/v1/sandboxes/{id}", Access::key, v1::patch_sandbox},
    {get, "/v1/sandboxes", Access::key, v1::list_sandboxes,
     "state driver name user_id label* limit cursor"},
    {get, "/v1/sandboxes/{id}/stats", Access::key, v1::sandbox_stats},

    {post, "/v1/sandboxes/{id}/stop", Access::key, v1::stop_sandbox},
    {post, "/v1/sandboxes/{id}/start", Access::key, v1::start_sandbox},
    {post, "/v1/sandboxes/{id}/recreate", Access::key, v1::recreate_sandbox},
    {post, "/v1/sandboxes/{id}/renew", Access::key, v1::renew_sandbox},
    {post, "/v1/sandboxes/{id}/pause", Access::key, v1::pause_sandbox},
    {post, "/v1/sandboxes/{id}/resume", Access::key, v1::resume_sandbox},
    {post, "/v1/sandboxes/{id}/snapshot", Access::key, v1::snapshot_sandbox},
    {post, "/v1/sandboxes/{id}/fork", Access::key, v1::fork_sandbox},
    {post, "/v1/sandboxes/{id}/resize", Access::key, v1::resize_sandbox},

    {get, "/v1/sandboxes/{id}/files", Access::key, v1::read_file, "path path_b64"},
    {put, "/v1/sandboxes/{id}/files", Access::key, v1::write_file, "path path_b64 mode parents"},
    {delete_, "/v1/sandboxes/{id}/files", Access::key, v1::delete_file, "path path_b64 recursive"},
    {get, "/v1/sandboxes/{id}/files/list", Access::key, v1::list_files, "path path_b64"},
    {get, "/v1/sandboxes/{id}/files/stat", Access::key, v1::stat_file, "path path_b64"},
    {post, "/v1/sandboxes/{id}/files/mkdir", Access::key, v1::make_directory},
    {post, "/v1/sandboxes/{id}/files/move", Access::key, v1::move_file},
    {post, "/v1/sandboxes/{id}/files/remove", Access::key, v1::remove_file},

    {get, "/v1/sandboxes/{id}/diff", Access::key, v1::diff_sandbox, "path path_b64"},

    {get, "/v1/sandboxes/{id}/processes", Access::key, v1::list_processes},
    {get, "/v1/sandboxes/{id}/processes/{process}/output", Access::key, v1::attach_output,
     "stdout_offset stderr_offset max_output_bytes on_disconnect", Answer::streams},
    {get, "/v1/sandboxes/{id}/processes/{process}/attach", Access::key, v1::attach_socket,
     "stdout_offset stderr_offset on_disconnect", Answer::streams},
    {post, "/v1/sandboxes/{id}/processes/{process}/stdin", Access::key, v1::write_stdin, "eof"},
    {post, "/v1/sandboxes/{id}/processes/{process}/signal", Access::key, v1::signal_process},
    {post, "/v1/sandboxes/{id}/processes/{process}/resize", Access::key, v1::resize_process},
    {get, "/v1/sandboxes/{id}/logs", Access::key, v1::read_logs, "process stream tail follow",
     Answer::streams},

    {get, "/v1/sandboxes/{id}/ports/{port}", Access::key, v1::dial_port, "", Answer::streams},

    {get, "/v1/events", Access::key, v1::read_events, "after sandbox state runs limit",
     Answer::streams},

    {get, "/v1/drivers", Access::key, v1::list_drivers},
    {get, "/v1/version", Access::key, v1::version},
    {post, "/v1/shutdown", Access::admin, v1::shut_down},

    {get, "/healthz", Access::open, v1::healthz},
    {get, "/readyz", Access::open, v1::readyz},
    {get, "/metrics", Access::key, v1::metrics},
};

}  // namespace

std::span<const Route> all_routes() { return kRoutes; }

}  // namespace atl::api
