#include "cli/remote_files.h"

#include <fmt/core.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>

#include "base/run_task.h"
#include "base/text.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "json/describe.h"
#include "json/write.h"
#include "os/file.h"

namespace atl::cli {
namespace {

constexpr size_t kPiece = 256 * 1024;

Result<RemoteEntry> to_entry(const json::Value& value) {
  RemoteEntry entry;
  TRY(entry.name, bytes_at(value, "name"));
  TRY(entry.link_target, bytes_at(value, "link_target"));
  entry.kind = json::find_enum<FileKind>(text_at(value, "kind")).value_or(FileKind::other);
  entry.size = static_cast<uint64_t>(number_at(value, "size"));
  const std::string mode = text_at(value, "mode");
  for (const char digit : mode) {
    if (digit >= '0' && digit <= '7')
      entry.mode = entry.mode * 8 + static_cast<uint32_t>(digit - '0');
  }
  entry.mode &= 0777;
  return entry;
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == name.npos &&
         name.find('\0') == name.npos;
}

Task<> send_file(Client& client, net::ClientRequest request, net::RequestBody body, int fd,
                 OnBytes on_bytes) {
  CO_TRY(const auto call, co_await client.begin(std::move(request), body));
  std::string buffer(kPiece, '\0');
  uint64_t left = body.kind == net::RequestBody::Kind::sized ? body.size : UINT64_MAX;
  while (left > 0) {
    const size_t most = static_cast<size_t>(std::min<uint64_t>(left, buffer.size()));
    const ssize_t got = read(fd, buffer.data(), most);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) co_return os_error("reading the file");
    if (got == 0) break;
    const std::string_view piece(buffer.data(), static_cast<size_t>(got));
    auto written = co_await call->write(piece);
    // A server that refuses answers before it has read everything; its answer says why.
    if (!written) co_return co_await client.expect_success(*call);
    left -= static_cast<uint64_t>(got);
    on_bytes(static_cast<uint64_t>(got));
  }
  if (left > 0 && body.kind == net::RequestBody::Kind::sized) {
    co_return Error(Code::conflict, "the file became shorter while it was read");
  }
  auto finished = co_await call->finish();
  static_cast<void>(finished);  // if it failed, so does the answer, which tells more
  co_return co_await client.expect_success(*call);
}

Task<> receive_file(Client& client, net::ClientRequest request, int fd, OnBytes on_bytes) {
  CO_TRY(const auto call, co_await client.begin(std::move(request)));
  CO_TRY_OK(co_await client.expect_success(*call));
  std::string buffer(kPiece, '\0');
  for (;;) {
    CO_TRY(const size_t got, co_await call->read_some(buffer.data(), buffer.size()));
    if (got == 0) co_return Result<>();
    auto written = os::write_all(fd, {buffer.data(), got});
    if (!written && written.error().os_errno() == EPIPE) co_return output_gone();
    if (!written) co_return std::move(written).error();
    on_bytes(got);
  }
}

}  // namespace

Result<std::string> bytes_at(const json::Value& value, const std::string& name) {
  const std::string encoded = text_at(value, name + "_b64");
  if (encoded.empty()) return text_at(value, name);
  return from_base64(encoded);
}

std::string RemoteFiles::target(std::string_view what, const std::string& path) const {
  const std::string query = is_utf8(path) ? "path=" + net::percent_encode(path)
                                          : "path_b64=" + net::percent_encode(to_base64(path));
  return sandbox_path(sandbox_, fmt::format("/files{}?{}", what, query));
}

Result<std::optional<RemoteEntry>> RemoteFiles::find(const std::string& path) {
  const auto text = client_.get(target("/stat", path));
  if (!text) {
    // A sandbox that is not there is an error; a file that is not is an answer.
    if (text.error().code() != Code::not_found) return text.error();
    TRY_OK(client_.get(sandbox_path(sandbox_)));
    return std::optional<RemoteEntry>();
  }
  TRY(const auto value, parse_answer(*text));
  TRY(auto entry, to_entry(value));
  return std::optional(std::move(entry));
}

Result<std::vector<RemoteEntry>> RemoteFiles::list(const std::string& path) {
  TRY(const std::string text, client_.get(target("/list", path)));
  TRY(const auto answer, parse_answer(text));
  std::vector<RemoteEntry> entries;
  for (const json::Value& value : list_at(answer, "entries")) {
    TRY(auto entry, to_entry(value));
    if (!is_plain_name(entry.name)) {
      return Error(Code::permission_denied,
                   "the sandbox names a file '" + to_printable(entry.name) + "'");
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<> RemoteFiles::make_directory(const std::string& path) {
  std::string body = is_utf8(path) ? R"({"path":)" : R"({"path_b64":)";
  json::write_string(body, is_utf8(path) ? path : to_base64(path));
  TRY_OK(client_.post(sandbox_path(sandbox_, "/files/mkdir"), body + "}"));
  return {};
}

Result<> RemoteFiles::upload(int fd, std::optional<uint64_t> size, const std::string& path,
                             uint32_t mode, const OnBytes& on_bytes) {
  auto request = client_.make_request(net::Method::put,
                                      target("", path) + fmt::format("&mode={:o}", mode & 0777));
  request.headers.add("Content-Type", "application/octet-stream");
  request.timeouts.total.reset();
  using Kind = net::RequestBody::Kind;
  const net::RequestBody body{size ? Kind::sized : Kind::chunked, size.value_or(0)};
  return run_task(client_.loop(), send_file(client_, std::move(request), body, fd, on_bytes));
}

Result<> RemoteFiles::download(const std::string& path, int fd, const OnBytes& on_bytes) {
  auto request = client_.make_request(net::Method::get, target("", path));
  request.timeouts.total.reset();
  return run_task(client_.loop(), receive_file(client_, std::move(request), fd, on_bytes));
}

}  // namespace atl::cli
