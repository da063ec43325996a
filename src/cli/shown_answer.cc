#include "cli/shown_answer.h"

#include "cli/json_view.h"
#include "cli/output_pipe.h"

namespace atl::cli {

Result<int> show_answer(Context& context, const std::string& text) {
  if (context.json()) {
    TRY_OK(print(text + "\n"));
    return 0;
  }
  TRY(const auto answer, parse_answer(text));
  TRY_OK(print(to_pretty(answer) + "\n"));
  return 0;
}

}  // namespace atl::cli
