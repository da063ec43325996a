#include "cli/remote_files.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include <boost/asio/io_context.hpp>

#include "base/run_task.h"
#include "base/text.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "crypto/hash.h"
#include "json/describe.h"
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

// Where a download stands that may need more than one connection.
struct Download {
  uint64_t got = 0;
  std::string tag;  // of the file that it began with
};

Task<> receive_file(Client& client, net::ClientRequest request, int fd, Download& download,
                    OnBytes on_bytes) {
  CO_TRY(const auto call, co_await client.begin(std::move(request)));
  CO_TRY_OK(co_await client.expect_success(*call));
  if (download.got > 0 && call->head().status != 206)
    co_return Error(Code::conflict, "the file changed while it was copied");
  download.tag = call->head().headers.get("ETag");
  std::string buffer(kPiece, '\0');
  for (;;) {
    CO_TRY(const size_t got, co_await call->read_some(buffer.data(), buffer.size()));
    if (got == 0) co_return Result<>();
    auto written = os::write_all(fd, {buffer.data(), got});
    if (!written && written.error().os_errno() == EPIPE) co_return output_gone();
    if (!written) co_return std::move(written).error();
    download.got += got;
    on_bytes(got);
  }
}

Task<> receive_archive(Client& client, net::ClientRequest request, TarReader& reader,
                       OnBytes on_bytes) {
  CO_TRY(const auto call, co_await client.begin(std::move(request)));
  CO_TRY_OK(co_await client.expect_success(*call));
  std::string buffer(kPiece, '\0');
  for (;;) {
    CO_TRY(const size_t got, co_await call->read_some(buffer.data(), buffer.size()));
    if (got == 0) co_return reader.finish();
    CO_TRY_OK(reader.put({buffer.data(), got}));
    on_bytes(got);
  }
}

// Whether a connection broke, or whoever answered was about to leave.
bool is_broken(const Error& error) { return error.code() == Code::unavailable; }

// Between attempts; false when nothing has come for too long.
class Patience final {
 public:
  bool wait(uint64_t progress) {
    if (progress != last_) attempts_ = 0;
    last_ = progress;
    if (++attempts_ > kMostAttempts) return false;
    std::this_thread::sleep_for(std::min(kFirstPause * (1 << attempts_), kLongestPause));
    return true;
  }

 private:
  static constexpr int kMostAttempts = 10;
  static constexpr std::chrono::milliseconds kFirstPause{100};
  static constexpr std::chrono::milliseconds kLongestPause{5000};

  uint64_t last_ = 0;
  int attempts_ = 0;
};

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

Result<> RemoteFiles::upload_in_parts(int fd, const std::string& path, const struct stat& info,
                                      const OnBytes& on_bytes) {
  const auto size = static_cast<uint64_t>(info.st_size);
  // The same file to the same place is the same upload, whoever goes on with it.
  const std::string upload =
      crypto::sha256_hex(fmt::format("{} {} {} {} {} {}", info.st_dev, info.st_ino, size,
                                     info.st_mtim.tv_sec, info.st_mtim.tv_nsec, path))
          .substr(0, 32);
  uint64_t counted = 0;
  uint64_t reached = 0;
  Patience patience;
  for (;;) {
    Result<> sent;
    auto there = client_.get(target("/uploads", path) + "&upload=" + upload);
    if (there) {
      TRY(const auto answer, parse_answer(*there));
      const auto offset = std::min(size, static_cast<uint64_t>(number_at(answer, "offset")));
      if (lseek(fd, static_cast<off_t>(offset), SEEK_SET) < 0) return os_error("reading the file");
      if (offset > counted) on_bytes(offset - std::exchange(counted, offset));
      reached = offset;
      auto request = client_.make_request(
          net::Method::put,
          target("", path) + fmt::format("&mode={:o}&upload={}&offset={}&size={}",
                                         info.st_mode & 0777, upload, offset, size));
      request.headers.add("Content-Type", "application/octet-stream");
      request.timeouts.total.reset();
      const net::RequestBody body{net::RequestBody::Kind::sized, size - offset};
      const auto count = [&](uint64_t bytes) {
        reached += bytes;
        if (reached > counted) on_bytes(reached - std::exchange(counted, reached));
      };
      sent = run_task(client_.loop(), send_file(client_, std::move(request), body, fd, count));
    } else {
      sent = std::move(there).error();
    }
    if (sent || !is_broken(sent.error()) || reached == 0 || !patience.wait(reached)) return sent;
  }
}

Result<> RemoteFiles::download(const std::string& path, int fd, const OnBytes& on_bytes) {
  Download download;
  Patience patience;
  for (;;) {
    auto request = client_.make_request(net::Method::get, target("", path));
    request.timeouts.total.reset();
    if (download.got > 0) {
      request.headers.add("Range", fmt::format("bytes={}-", download.got));
      request.headers.add("If-Range", download.tag);
    }
    auto received =
        run_task(client_.loop(), receive_file(client_, std::move(request), fd, download, on_bytes));
    if (received || !is_broken(received.error()) || download.got == 0 || download.tag.empty() ||
        !patience.wait(download.got)) {
      return received;
    }
  }
}

Result<> RemoteFiles::upload_archive(int fd, const std::string& path, const OnBytes& on_bytes) {
  auto request = client_.make_request(net::Method::put, target("/tar", path));
  request.headers.add("Content-Type", "application/x-tar");
  request.timeouts.total.reset();
  const net::RequestBody body{net::RequestBody::Kind::chunked, 0};
  return run_task(client_.loop(), send_file(client_, std::move(request), body, fd, on_bytes));
}

Result<> RemoteFiles::download_archive(const std::string& path, TarReader& reader,
                                       const OnBytes& on_bytes) {
  auto request = client_.make_request(net::Method::get, target("/tar", path) + "&all_links=true");
  request.timeouts.total.reset();
  return run_task(client_.loop(), receive_archive(client_, std::move(request), reader, on_bytes));
}

}  // namespace atl::cli
