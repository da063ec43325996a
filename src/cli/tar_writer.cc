#include "cli/tar_writer.h"

#include <fmt/core.h>

#include <algorithm>

#include <boost/beast/zlib/deflate_stream.hpp>

#include "base/crc32.h"

namespace atl::cli {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kLongestName = 100;

// Where the fields of a ustar header are.
constexpr size_t kMode = 100, kUser = 108, kGroup = 116, kSize = 124, kTime = 136, kSum = 148,
                 kType = 156, kMagic = 257;

void put(std::string& header, size_t at, std::string_view text) {
  std::ranges::copy(text, header.begin() + static_cast<ptrdiff_t>(at));
}

void append_little_endian(std::string& out, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift & 0xFF);
}

}  // namespace

Result<> TarWriter::add(std::string_view name, std::string_view bytes) {
  if (name.empty() || name.size() > kLongestName || name.front() == '/') {
    return Error(Code::invalid_argument, "no name for an archive: " + std::string(name));
  }
  std::string header(kBlock, '\0');
  put(header, 0, name);
  put(header, kMode, "0000644");
  put(header, kUser, "0000000");
  put(header, kGroup, "0000000");
  put(header, kSize, fmt::format("{:011o}", bytes.size()));
  put(header, kTime, fmt::format("{:011o}", std::max<int64_t>(modified_, 0)));
  put(header, kSum, "        ");  // counts as blanks in its own sum
  put(header, kType, "0");
  put(header, kMagic, std::string_view("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<uint8_t>(c);
  put(header, kSum, fmt::format("{:06o}", sum));
  header[kSum + 6] = '\0';
  archive_ += header;
  archive_ += bytes;
  archive_.append((kBlock - bytes.size() % kBlock) % kBlock, '\0');
  return {};
}

std::string TarWriter::finish() {
  archive_.append(2 * kBlock, '\0');
  return std::move(archive_);
}

Result<std::string> to_gzip(std::string_view bytes) {
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
  if (failure != zlib::error::end_of_stream) {
    return Error(Code::internal, "compressing: " + failure.message());
  }
  body.resize(parts.total_out);
  std::string out("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
  out += body;
  append_little_endian(out, crc32_of(bytes));
  append_little_endian(out, static_cast<uint32_t>(bytes.size()));
  return out;
}

}  // namespace atl::cli
