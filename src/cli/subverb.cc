#include "cli/subverb.h"

#include <fmt/format.h>

#include "base/text.h"

namespace atl::cli {

Result<int> run_subverb(Context& context, std::string_view verb,
                        std::span<const Subverb> subverbs) {
  const auto& words = context.args.words();
  std::vector<std::string> known;
  std::string list;
  for (const Subverb& one : subverbs) {
    known.emplace_back(one.name);
    list.append(list.empty() ? "" : ", ").append(one.name);
    if (one.name != words[0]) continue;
    const size_t count = words.size() - 1;
    if (count >= one.least && count <= one.most) return one.run(context);
    return usage_error(fmt::format("{} {}: {} words are too {}", verb, one.name, count,
                                   count < one.least ? "few" : "many"),
                       verb);
  }
  const std::string near = did_you_mean(words[0], known);
  return usage_error(fmt::format("{}: '{}' is none of {}", verb, to_printable(words[0]), list))
      .with_hint(near.empty() ? fmt::format("see: atoll {} --help", verb)
                              : fmt::format("did you mean: atoll {} {}", verb, near));
}

}  // namespace atl::cli
