#include "client/line_reader.h"

namespace atl::client {
namespace {

constexpr size_t kPiece = 256 * 1024;
constexpr size_t kLongestLine = size_t{64} << 20;

}  // namespace

Task<> read_lines(Connection& connection, net::ClientRequest request,
                  std::function<Result<>(std::string_view line)> on_line) {
  request.timeouts.total.reset();
  CO_TRY(const auto call, co_await connection.begin(std::move(request)));
  CO_TRY_OK(co_await connection.expect_success(*call));
  std::string buffer(kPiece, '\0'), text;
  for (;;) {
    CO_TRY(const size_t got, co_await call->read_some(buffer.data(), buffer.size()));
    if (got == 0) break;
    text.append(buffer.data(), got);
    size_t begin = 0;
    for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
      CO_TRY_OK(on_line(std::string_view(text).substr(begin, end - begin)));
      begin = end + 1;
    }
    text.erase(0, begin);
    if (text.size() > kLongestLine)
      co_return Error(Code::unavailable, "the daemon answers nonsense");
  }
  co_return Result<>();
}

}  // namespace atl::client
