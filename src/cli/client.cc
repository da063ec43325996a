#include "cli/client.h"

namespace atl::cli {

Result<std::unique_ptr<Client>> open_client(Context& context) {
  TRY(const TargetSearch search, find_target(context.args, find_variable));
  if (!search.found) return no_daemon(search);
  return connect_client(context, *search.found);
}

Result<std::unique_ptr<Client>> connect_client(Context& context, const Target& target) {
  client::ConnectionOptions options;
  options.target = target;
  // Whoever started us with a trace of its own wants to see us in it.
  options.traceparent = find_variable("TRACEPARENT").value_or("");
  return Client::connect(options, context.request_id);
}

}  // namespace atl::cli
