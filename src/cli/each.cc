#include "cli/each.h"

#include "cli/output_pipe.h"
#include "cli/report.h"
#include "json/write.h"

namespace atl::cli {
namespace {

// {"id":"x",…the error as everywhere}
std::string failure_of(const std::string& sandbox, const Error& error,
                       const std::string& request_id) {
  std::string out = R"({"id":)";
  json::write_string(out, sandbox);
  std::string rest = to_json(error, request_id);
  rest.pop_back();
  rest[0] = ',';
  return out + rest;
}

}  // namespace

Result<int> for_each(Context& context, Client& client, const std::vector<std::string>& sandboxes,
                     const Action& action) {
  int code = 0;
  std::string array;
  for (const std::string& sandbox : sandboxes) {
    context.request_id.clear();
    const auto done = action(client, sandbox);
    if (!done && code == 0) code = exit_code_of(done.error());
    if (context.json()) {
      array += array.empty() ? "" : ",";
      array += done ? *done : failure_of(sandbox, done.error(), context.request_id);
    } else if (!done) {
      std::string text = to_text(done.error(), context.request_id);
      text.pop_back();
      tell(text);
    } else if (!context.quiet()) {
      TRY_OK(print(sandbox + "\n"));
    }
  }
  if (context.json()) TRY_OK(print("[" + array + "]\n"));
  return code;
}

}  // namespace atl::cli
