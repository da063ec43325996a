// `atoll serve`: becomes the daemon.
#include <fmt/format.h>

#include <charconv>

#include "base/text.h"
#include "cli/target.h"
#include "cli/verbs.h"

namespace atl::cli {
namespace {

constexpr size_t kMostParked = 64;

constexpr Flag kFlags[] = {
    {"listen", 0, "HOST:PORT",
     "where to serve the API; none = the Unix socket only (127.0.0.1:7070)"},
    {"user", 0, "NAME", "started as root: the user to become (atoll, if there is one)"},
    {"parked", 0, "N", "most sandboxes of a kind to make before they are asked for (64)"},
};

Result<int> serve(Context& context) {
  const Args& args = context.args;
  ServeOptions options;
  options.listen = args.find("listen").value_or("127.0.0.1:7070");
  options.user = args.find("user").value_or("");
  if (const auto text = args.find("parked")) {
    const auto [end, trouble] =
        std::from_chars(text->data(), text->data() + text->size(), options.most_parked);
    if (trouble != std::errc() || end != text->data() + text->size() ||
        options.most_parked > kMostParked) {
      return usage_error(fmt::format("--parked: '{}' is no number from 0 to {}",
                                     to_printable(*text), kMostParked));
    }
  }
  TRY(options.state_directory, state_directory_from(args, find_variable));
  TRY_OK(context.program.serve(std::move(options)));
  return 0;
}

}  // namespace

const Verb kServeVerb{
    .grammar = {.verb = "serve", .usage = "[FLAGS]", .flags = {kFlags, kEverywhereFlags}},
    .summary = "Serve the API until told to stop",
    .more =
        "Everything is kept in the state directory: the first key in admin.key, the socket "
        "atoll.sock.\n"
        "SIGTERM leaves every sandbox running for the next daemon; Ctrl-C and `atoll down` end "
        "them.",
    .run = serve};

}  // namespace atl::cli
