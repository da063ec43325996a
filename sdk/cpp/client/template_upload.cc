#include "client/template_upload.h"

#include <algorithm>
#include <chrono>

namespace atl::client {
namespace {

constexpr size_t kPiece = 256 * 1024;
constexpr size_t kLargestAnswer = 8 << 20;
// The daemon unpacks before it answers, and gives up on that itself.
constexpr std::chrono::minutes kPatience{35};

}  // namespace

Task<std::string> upload_template(Connection& connection, std::string name, Source source,
                                  std::optional<uint64_t> size) {
  auto request =
      connection.make_request(net::Method::put, "/v1/templates/" + net::percent_encode(name));
  request.headers.add("Content-Type", "application/x-tar");
  request.timeouts.first_byte = kPatience;
  request.timeouts.silence = kPatience;
  request.timeouts.total.reset();
  using Kind = net::RequestBody::Kind;
  const net::RequestBody body{size ? Kind::sized : Kind::chunked, size.value_or(0)};
  CO_TRY(const auto call, co_await connection.begin(std::move(request), body));
  std::string buffer(kPiece, '\0');
  uint64_t left = size.value_or(UINT64_MAX);
  while (left > 0) {
    CO_TRY(const size_t got,
           source(buffer.data(), static_cast<size_t>(std::min<uint64_t>(left, buffer.size()))));
    if (got == 0) break;
    const std::string_view piece(buffer.data(), got);
    auto written = co_await call->write(piece);
    // A daemon that refuses answers before it has read everything; its answer says why.
    if (!written) break;
    left -= got;
  }
  auto finished = co_await call->finish();
  static_cast<void>(finished);  // if it failed, so does the answer, which tells more
  CO_TRY_OK(co_await connection.expect_success(*call));
  co_return co_await call->read_all(kLargestAnswer);
}

}  // namespace atl::client
