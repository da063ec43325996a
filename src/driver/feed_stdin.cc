#include "driver/feed_stdin.h"

namespace atl {
namespace {

constexpr size_t kPiece = 64 * 1024;

}  // namespace

Task<> feed_stdin(std::shared_ptr<Process> process, std::string bytes, AfterStdin after) {
  for (size_t at = 0; at < bytes.size(); at += kPiece) {
    std::string piece = bytes.substr(at, kPiece);
    auto written = co_await process->write_stdin(std::move(piece));
    if (!written) co_return Result<>();
  }
  if (after == AfterStdin::leave_open) co_return Result<>();
  auto closed = co_await process->close_stdin();
  static_cast<void>(closed);
  co_return Result<>();
}

}  // namespace atl
