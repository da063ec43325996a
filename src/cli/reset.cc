// `atoll reset`: sandboxes made anew for their next users.
#include <boost/describe/class.hpp>

#include "cli/each.h"
#include "cli/exec_flags.h"
#include "cli/verbs.h"
#include "json/encode.h"

namespace atl::cli {
namespace {

struct Asked {
  std::map<std::string, std::string> env;
};
BOOST_DESCRIBE_STRUCT(Asked, (), (env))

Result<int> reset(Context& context) {
  Asked asked;
  TRY(asked.env, env_from(context.args));
  const std::string body = json::encode(asked);
  TRY(const auto client, open_client(context));
  return for_each(context, *client, context.args.words(),
                  [&](Client& daemon, const std::string& sandbox) {
                    return daemon.post(sandbox_path(sandbox, "/reset"), body);
                  });
}

}  // namespace

const Verb kResetVerb{
    .grammar = {.verb = "reset",
                .usage = "[FLAGS] BOX…",
                .flags = {kEnvFlags, kEverywhereFlags},
                .least_words = 1,
                .most_words = kMostSandboxes},
    .group = kSandboxesGroup,
    .summary = "Make sandboxes anew for their next users",
    .more =
        "Nothing of before is left: no process, file, variable or token. Id, name and limits stay.",
    .run = reset};

}  // namespace atl::cli
