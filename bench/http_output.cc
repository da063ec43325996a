// Reads the output of one command over the API's binary stream and says how many bytes of stdout
// came and how long it took.
//
//   bench_http_output SOCKET SANDBOX COMMAND
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "os/file.h"
#include "os/socket.h"

namespace {

// The chunked coding and the frames inside it, taken apart as the bytes come, without keeping them.
class Counter {
 public:
  void feed(const char* data, size_t size) {
    while (size > 0) {
      if (!in_head_ && chunk_left_ > 0) {
        const size_t part = std::min<uint64_t>(size, chunk_left_);
        feed_frames(data, part);
        chunk_left_ -= part;
        data += part;
        size -= part;
        continue;
      }
      line_ += *data++;
      --size;
      if (in_head_) {
        if (!line_.ends_with("\r\n\r\n")) continue;
        ok_ = line_.starts_with("HTTP/1.1 200");
        in_head_ = false;
        line_.clear();
      } else if (line_.ends_with("\r\n")) {
        if (line_ != "\r\n") {
          chunk_left_ = std::strtoull(line_.c_str(), nullptr, 16);
          if (chunk_left_ == 0) done_ = true;
        }
        line_.clear();
      }
    }
  }
  bool done() const { return done_; }
  bool ok() const { return ok_; }
  uint64_t stdout_bytes() const { return stdout_bytes_; }

 private:
  void feed_frames(const char* data, size_t size) {
    while (size > 0) {
      if (frame_left_ > 0) {
        const size_t part = std::min<uint64_t>(size, frame_left_);
        if (kind_ == 1) stdout_bytes_ += part;
        frame_left_ -= part;
        data += part;
        size -= part;
        continue;
      }
      header_[have_++] = static_cast<uint8_t>(*data++);
      --size;
      if (have_ < 8) continue;
      have_ = 0;
      kind_ = header_[0];
      frame_left_ = static_cast<uint64_t>(header_[4]) << 24 |
                    static_cast<uint64_t>(header_[5]) << 16 |
                    static_cast<uint64_t>(header_[6]) << 8 | header_[7];
    }
  }

  bool in_head_ = true, ok_ = false, done_ = false;
  std::string line_;
  uint64_t chunk_left_ = 0, frame_left_ = 0, stdout_bytes_ = 0;
  uint8_t header_[8] = {};
  int have_ = 0, kind_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  using namespace atl;
  if (argc != 4) return 2;
  auto socket = os::connect_at(AT_FDCWD, argv[1], os::SocketKind::stream);
  if (!socket) return 1;
  fcntl(socket->get(), F_SETFL, 0);
  const std::string body = "{\"command\":\"" + std::string(argv[3]) + "\"}";
  const std::string request =
      "POST /v1/sandboxes/" + std::string(argv[2]) +
      "/exec HTTP/1.1\r\nHost: atoll\r\nAccept: application/vnd.atoll.stream\r\n"
      "Content-Type: application/json\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  const auto start = std::chrono::steady_clock::now();
  if (!os::write_all(socket->get(), request)) return 1;
  std::vector<char> buffer(1 << 20);
  Counter counter;
  while (!counter.done()) {
    const ssize_t got = read(socket->get(), buffer.data(), buffer.size());
    if (got <= 0) return 1;
    counter.feed(buffer.data(), static_cast<size_t>(got));
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("{\"ok\": %s, \"bytes\": %llu, \"seconds\": %.6f}\n", counter.ok() ? "true" : "false",
              static_cast<unsigned long long>(counter.stdout_bytes()), seconds);
  return counter.ok() ? 0 : 1;
}
