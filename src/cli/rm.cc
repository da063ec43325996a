// `atoll rm`: ends sandboxes; nothing of them is left.
#include "cli/each.h"
#include "cli/sandbox_list.h"
#include "cli/verbs.h"
#include "json/write.h"

namespace atl::cli {
namespace {

constexpr Flag kFlags[] = {
    {"force", 'f', "", "one that is not there is no error"},
    {"all", 'a', "", "every sandbox"},
    {"discard", 0, "", "keep nothing, of those with --checkpoint neither"},
};

Result<int> rm(Context& context) {
  const Args& args = context.args;
  if (args.words().empty() && !args.has("all")) {
    return usage_error("which sandbox?").with_hint("name it, or say --all; atoll ps lists them");
  }
  if (!args.words().empty() && args.has("all")) {
    return usage_error("--all means every sandbox; name none besides");
  }
  TRY(const auto client, open_client(context));
  std::vector<std::string> sandboxes = args.words();
  if (args.has("all")) {
    TRY(sandboxes, fetch_sandbox_ids(*client));
  }
  // Of all that were there a moment ago one may have ended by itself.
  const bool may_miss = args.has("force") || args.has("all");

  return for_each(context, *client, sandboxes,
                  [&](Client& daemon, const std::string& sandbox) -> Result<std::string> {
                    const char* how = args.has("discard") ? "?discard=true" : "";
                    auto removed = daemon.remove(sandbox_path(sandbox) + how);
                    const bool missing = !removed && removed.error().code() == Code::not_found;
                    if (!removed && !(missing && may_miss)) return std::move(removed).error();
                    std::string out = R"({"id":)";
                    json::write_string(out, sandbox);
                    return out + (missing ? R"(,"removed":false})" : R"(,"removed":true})");
                  });
}

}  // namespace

const Verb kRmVerb{.grammar = {.verb = "rm",
                               .usage = "[FLAGS] BOX… | --all",
                               .flags = {kFlags, kEverywhereFlags},
                               .most_words = kMostSandboxes},
                   .group = kSandboxesGroup,
                   .summary = "Remove sandboxes with everything in them",
                   .more = "",
                   .run = rm};

}  // namespace atl::cli
