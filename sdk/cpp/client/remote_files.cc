#include "client/remote_files.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>

#include "base/text.h"
#include "client/answer.h"
#include "crypto/hash.h"
#include "json/write.h"
#include "net/event.h"

namespace atl::client {
namespace {

constexpr size_t kPiece = 256 * 1024;

EntryKind kind_from(std::string_view name) {
  if (name == "file") return EntryKind::file;
  if (name == "directory") return EntryKind::directory;
  if (name == "symlink") return EntryKind::symlink;
  return EntryKind::other;
}

Result<RemoteEntry> to_entry(const json::Value& value) {
  RemoteEntry entry;
  TRY(entry.name, bytes_at(value, "name"));
  TRY(entry.path, bytes_at(value, "path"));
  TRY(entry.link_target, bytes_at(value, "link_target"));
  entry.kind = kind_from(text_at(value, "kind"));
  entry.size = count_at(value, "size");
  entry.modified_at = text_at(value, "modified_at");
  entry.etag = text_at(value, "etag");
  const std::string mode = text_at(value, "mode");
  for (const char digit : mode) {
    if (digit >= '0' && digit <= '7')
      entry.mode = entry.mode * 8 + static_cast<uint32_t>(digit - '0');
  }
  entry.mode &= 0777;
  return entry;
}

void add_path(json::Object& body, const std::string& name, const std::string& path) {
  if (is_utf8(path)) {
    body[name] = path;
  } else {
    body[name + "_b64"] = to_base64(path);
  }
}

std::string to_text(const json::Object& body) {
  std::string out;
  json::write_value(out, body);
  return out;
}

// As long as bytes go through.
net::ClientRequest make_transfer(const Connection& connection, net::Method method,
                                 std::string target, std::string_view type) {
  auto request = connection.make_request(method, std::move(target));
  if (!type.empty()) request.headers.add("Content-Type", type);
  request.timeouts.silence = request.timeouts.total;
  request.timeouts.total.reset();
  return request;
}

Task<> send_body(Connection& connection, net::ClientRequest request, net::RequestBody body,
                 Source source) {
  CO_TRY(const auto call, co_await connection.begin(std::move(request), body));
  std::string buffer(kPiece, '\0');
  uint64_t left = body.kind == net::RequestBody::Kind::sized ? body.size : UINT64_MAX;
  while (left > 0) {
    const size_t most = static_cast<size_t>(std::min<uint64_t>(left, buffer.size()));
    CO_TRY(const size_t got, source(buffer.data(), most));
    if (got == 0) break;
    const std::string_view piece(buffer.data(), got);
    auto written = co_await call->write(piece);
    // A server that refuses answers before it has read everything; its answer says why.
    if (!written) co_return co_await connection.expect_success(*call);
    left -= got;
  }
  if (left > 0 && body.kind == net::RequestBody::Kind::sized) {
    co_return Error(Code::conflict, "the file became shorter while it was read");
  }
  auto finished = co_await call->finish();
  static_cast<void>(finished);  // if it failed, so does the answer, which tells more
  co_return co_await connection.expect_success(*call);
}

// Where a download stands that may need more than one connection.
struct Download {
  uint64_t got = 0;
  std::string tag;  // of the file that it began with
};

Task<> receive_body(net::ClientCall& call, Sink sink, Download& download) {
  std::string buffer(kPiece, '\0');
  for (;;) {
    CO_TRY(const size_t got, co_await call.read_some(buffer.data(), buffer.size()));
    if (got == 0) co_return Result<>();
    CO_TRY_OK(sink({buffer.data(), got}));
    download.got += got;
  }
}

Task<> receive_file(Connection& connection, net::ClientRequest request, Sink sink,
                    Download& download) {
  CO_TRY(const auto call, co_await connection.begin(std::move(request)));
  CO_TRY_OK(co_await connection.expect_success(*call));
  if (download.got > 0 && call->head().status != 206)
    co_return Error(Code::conflict, "the file changed while it was copied");
  download.tag = call->head().headers.get("ETag");
  co_return co_await receive_body(*call, std::move(sink), download);
}

// Whether a connection broke, or whoever answered was about to leave.
bool is_broken(const Error& error) { return error.code() == Code::unavailable; }

// Between attempts; false when nothing has come for too long.
class Patience final {
 public:
  explicit Patience(const asio::any_io_executor& executor) : never_(executor) {}

  Task<bool> wait(uint64_t progress) {
    if (progress != last_) attempts_ = 0;
    last_ = progress;
    if (++attempts_ > kMostAttempts) co_return false;
    const auto pause = std::min(kFirstPause * (1 << attempts_), kLongestPause);
    co_await never_.wait_until(std::chrono::steady_clock::now() + pause);
    co_return true;
  }

 private:
  static constexpr int kMostAttempts = 10;
  static constexpr std::chrono::milliseconds kFirstPause{100};
  static constexpr std::chrono::milliseconds kLongestPause{5000};

  net::Event never_;
  uint64_t last_ = 0;
  int attempts_ = 0;
};

}  // namespace

Source source_from(int fd) {
  return [fd](char* into, size_t most) -> Result<size_t> {
    for (;;) {
      const ssize_t got = read(fd, into, most);
      if (got >= 0) return static_cast<size_t>(got);
      if (errno != EINTR) return os_error("reading the file");
    }
  };
}

std::string RemoteFiles::target(std::string_view what, const std::string& path) const {
  return sandbox_path(sandbox_, fmt::format("/files{}?{}", what, path_query(path)));
}

Task<RemoteEntry> RemoteFiles::stat(std::string path) {
  CO_TRY(const std::string text, co_await connection_->get(target("/stat", path)));
  CO_TRY(const auto value, parse_answer(text));
  co_return to_entry(value);
}

Task<std::optional<RemoteEntry>> RemoteFiles::find(std::string path) {
  auto entry = co_await stat(std::move(path));
  if (entry) co_return std::optional(*std::move(entry));
  // A sandbox that is not there is an error; a file that is not is an answer.
  if (entry.error().code() != Code::not_found) co_return entry.error();
  CO_TRY_OK(co_await connection_->get(sandbox_path(sandbox_)));
  co_return std::optional<RemoteEntry>();
}

Task<std::vector<RemoteEntry>> RemoteFiles::list(std::string path) {
  CO_TRY(const std::string text, co_await connection_->get(target("/list", path)));
  CO_TRY(const auto value, parse_answer(text));
  std::vector<RemoteEntry> entries;
  for (const json::Value& one : list_at(value, "entries")) {
    CO_TRY(entries.emplace_back(), to_entry(one));
  }
  co_return entries;
}

Task<> RemoteFiles::remove(std::string path, Depth depth) {
  co_return co_await connection_->remove(target("", path) +
                                         (depth == Depth::tree ? "&recursive=true" : ""));
}

Task<> RemoteFiles::make_directory(std::string path) {
  json::Object body;
  add_path(body, "path", path);
  body["parents"] = true;
  CO_TRY_OK(co_await connection_->post(sandbox_path(sandbox_, "/files/mkdir"), to_text(body)));
  co_return Result<>();
}

Task<> RemoteFiles::move(std::string from, std::string to) {
  json::Object body;
  add_path(body, "from", from);
  add_path(body, "to", to);
  CO_TRY_OK(co_await connection_->post(sandbox_path(sandbox_, "/files/move"), to_text(body)));
  co_return Result<>();
}

Task<> RemoteFiles::upload(Source source, std::optional<uint64_t> size, std::string path,
                           uint32_t mode) {
  auto request = make_transfer(*connection_, net::Method::put,
                               target("", path) + fmt::format("&mode={:o}", mode & 0777),
                               "application/octet-stream");
  using Kind = net::RequestBody::Kind;
  const net::RequestBody body{size ? Kind::sized : Kind::chunked, size.value_or(0)};
  co_return co_await send_body(*connection_, std::move(request), body, std::move(source));
}

Task<> RemoteFiles::upload_in_parts(int fd, std::string path, struct stat info, OnBytes on_bytes) {
  const auto size = static_cast<uint64_t>(info.st_size);
  // The same file to the same place is the same upload, whoever goes on with it.
  const std::string upload =
      crypto::sha256_hex(fmt::format("{} {} {} {} {} {}", info.st_dev, info.st_ino, size,
                                     info.st_mtim.tv_sec, info.st_mtim.tv_nsec, path))
          .substr(0, 32);
  uint64_t counted = 0;
  uint64_t reached = 0;
  Patience patience(connection_->executor());
  const Source from_file = source_from(fd);
  const Source counting = [&](char* into, size_t most) -> Result<size_t> {
    TRY(const size_t got, from_file(into, most));
    reached += got;
    if (reached > counted) on_bytes(reached - std::exchange(counted, reached));
    return got;
  };
  for (;;) {
    Result<> sent;
    auto there = co_await connection_->get(target("/uploads", path) + "&upload=" + upload);
    if (there) {
      CO_TRY(const auto answer, parse_answer(*there));
      const uint64_t offset = std::min(size, count_at(answer, "offset"));
      if (lseek(fd, static_cast<off_t>(offset), SEEK_SET) < 0)
        co_return os_error("reading the file");
      if (offset > counted) on_bytes(offset - std::exchange(counted, offset));
      reached = offset;
      auto request =
          make_transfer(*connection_, net::Method::put,
                        target("", path) + fmt::format("&mode={:o}&upload={}&offset={}&size={}",
                                                       info.st_mode & 0777, upload, offset, size),
                        "application/octet-stream");
      const net::RequestBody body{net::RequestBody::Kind::sized, size - offset};
      sent = co_await send_body(*connection_, std::move(request), body, counting);
    } else {
      sent = std::move(there).error();
    }
    if (sent || !is_broken(sent.error()) || reached == 0) co_return sent;
    CO_TRY(const bool again, co_await patience.wait(reached));
    if (!again) co_return sent;
  }
}

Task<> RemoteFiles::download(std::string path, Sink sink) {
  Download download;
  Patience patience(connection_->executor());
  for (;;) {
    auto request = make_transfer(*connection_, net::Method::get, target("", path), "");
    if (download.got > 0) {
      request.headers.add("Range", fmt::format("bytes={}-", download.got));
      request.headers.add("If-Range", download.tag);
    }
    auto received = co_await receive_file(*connection_, std::move(request), sink, download);
    if (received || !is_broken(received.error()) || download.got == 0 || download.tag.empty())
      co_return received;
    CO_TRY(const bool again, co_await patience.wait(download.got));
    if (!again) co_return received;
  }
}

Task<> RemoteFiles::upload_archive(Source source, std::string path) {
  auto request =
      make_transfer(*connection_, net::Method::put, target("/tar", path), "application/x-tar");
  const net::RequestBody body{net::RequestBody::Kind::chunked, 0};
  co_return co_await send_body(*connection_, std::move(request), body, std::move(source));
}

Task<> RemoteFiles::download_archive(std::string path, Links links, Sink sink) {
  auto request =
      make_transfer(*connection_, net::Method::get,
                    target("/tar", path) + (links == Links::all ? "&all_links=true" : ""), "");
  CO_TRY(const auto call, co_await connection_->begin(std::move(request)));
  CO_TRY_OK(co_await connection_->expect_success(*call));
  Download download;
  co_return co_await receive_body(*call, std::move(sink), download);
}

}  // namespace atl::client
