// Archives for tests, made in memory.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include <boost/beast/zlib/deflate_stream.hpp>

#include "base/crc32.h"
#include "base/fd.h"
#include "base/tar.h"
#include "crypto/hash.h"

namespace atl {

class TestArchive final {
 public:
  TestArchive& file(std::string path, std::string_view content, uint32_t mode = 0644) {
    put({.path = std::move(path), .size = content.size(), .mode = mode, .modified_at = 1'000});
    bytes_ += content;
    bytes_ += tar_padding(content.size());
    return *this;
  }
  TestArchive& directory(std::string path, uint32_t mode = 0755) {
    put({.path = std::move(path), .kind = TarKind::directory, .mode = mode});
    return *this;
  }
  TestArchive& symlink(std::string path, std::string target) {
    put({.path = std::move(path),
         .kind = TarKind::symlink,
         .mode = 0777,
         .link_target = std::move(target)});
    return *this;
  }
  TestArchive& hard_link(std::string path, std::string target) {
    put({.path = std::move(path),
         .kind = TarKind::hard_link,
         .mode = 0644,
         .link_target = std::move(target)});
    return *this;
  }
  // Empty, with one byte of its header changed: 156 is the kind, 103 the digit of set-user-id.
  TestArchive& file_as(const std::string& path, size_t at, char byte) {
    std::string header = tar_header({.path = path, .mode = 0644});
    header[at] = byte;
    unsigned sum = 0;
    for (size_t i = 0; i < header.size(); ++i)
      sum += i >= 148 && i < 156 ? ' ' : static_cast<uint8_t>(header[i]);
    for (size_t i = 6; i-- > 0; sum >>= 3) header[148 + i] = static_cast<char>('0' + (sum & 7));
    bytes_ += header;
    return *this;
  }
  TestArchive& device(const std::string& path) { return file_as(path, 156, '3'); }

  std::string done() const { return bytes_ + tar_end(); }
  std::string unfinished() const { return bytes_; }

 private:
  void put(const TarEntry& entry) { bytes_ += tar_header(entry); }

  std::string bytes_;
};

inline std::string to_gzip(std::string_view bytes) {
  namespace zlib = boost::beast::zlib;
  zlib::deflate_stream stream;
  std::string body(stream.upper_bound(bytes.size()) + 64, '\0');
  zlib::z_params parts;
  parts.next_in = bytes.data();
  parts.avail_in = bytes.size();
  parts.next_out = body.data();
  parts.avail_out = body.size();
  boost::system::error_code failure;
  stream.write(parts, zlib::Flush::finish, failure);
  body.resize(parts.total_out);
  const uint32_t crc = crc32_of(bytes);
  std::string out("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
  out += body;
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(crc >> shift & 0xFF);
  for (int shift = 0; shift < 32; shift += 8)
    out += static_cast<char>(bytes.size() >> shift & 0xFF);
  return out;
}

inline Fd in_memory(std::string_view bytes) {
  Fd fd(memfd_create("archive", MFD_CLOEXEC));
  size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t put = write(fd.get(), bytes.data() + at, bytes.size() - at);
    if (put <= 0) break;
    at += static_cast<size_t>(put);
  }
  return fd;
}

}  // namespace atl
