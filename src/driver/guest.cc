#include "driver/guest.h"

#include <boost/asio/this_coro.hpp>

#include "driver/feed_stdin.h"

namespace atl {
namespace {

void keep_bounded(std::string& kept, std::string_view bytes, size_t keep, bool& truncated) {
  const size_t room = keep - std::min(keep, kept.size());
  kept += bytes.substr(0, room);
  if (bytes.size() > room) truncated = true;
}

}  // namespace

Task<std::vector<FileChange>> Guest::changes(std::string) {
  co_return Error(Code::unsupported, "this driver cannot tell what a sandbox changed");
}

Task<std::unique_ptr<Tunnel>> Guest::dial(uint16_t) {
  co_return Error(Code::unsupported, "sandboxes of this driver have no ports of their own")
      .with_hint("native, rootless and container drivers have: atoll drivers");
}

Task<std::unique_ptr<FileWriter>> Guest::resume_write(ResumableWrite) {
  co_return Error(Code::unsupported, "this driver takes files only whole");
}

Task<uint64_t> Guest::uploaded(std::string, std::string) {
  co_return Error(Code::unsupported, "this driver takes files only whole");
}

Task<std::unique_ptr<FileTool>> Guest::start_tool(ToolRequest) {
  co_return Error(Code::unsupported, "sandboxes of this driver have no file tools")
      .with_hint("run find, grep or tar in the sandbox, if it has them");
}

Task<ExecResult> exec_collect(Guest& guest, ExecRequest request, std::string stdin_bytes,
                              size_t keep, std::function<void(ExecStep)> on_step) {
  if (!stdin_bytes.empty()) request.stdin_mode = StdinMode::open;
  CO_TRY(auto started, co_await guest.start(std::move(request)));
  std::shared_ptr<Process> process =
      std::move(started);  // shared with the feeder, which may end later
  if (on_step) on_step(ExecStep::started);
  if (!stdin_bytes.empty()) {
    const auto executor = co_await asio::this_coro::executor;
    spawn(executor, feed_stdin(process, std::move(stdin_bytes), AfterStdin::close));
  }

  ExecResult result;
  for (;;) {
    CO_TRY(auto event, co_await process->next());
    if (const auto* output = std::get_if<Output>(&event)) {
      if (on_step) on_step(ExecStep::output);
      auto& kept = output->stream == Stream::out ? result.out : result.err;
      keep_bounded(kept, output->bytes, keep, result.truncated);
    } else if (std::holds_alternative<OutputGap>(event)) {
      result.truncated = true;
    } else {
      result.status = std::get<ExitStatus>(event);
      co_return result;
    }
  }
}

}  // namespace atl
