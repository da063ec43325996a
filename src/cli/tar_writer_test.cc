#include "cli/tar_writer.h"

#include <gtest/gtest.h>

#include <boost/beast/zlib/inflate_stream.hpp>

namespace atl::cli {
namespace {

TEST(TarWriter, WritesHeadersThatAddUp) {
  TarWriter tar(1'700'000'000);
  ASSERT_TRUE(tar.add("dir/a.txt", "hello").has_value());
  const std::string bytes = tar.finish();

  ASSERT_EQ(bytes.size(), 4 * 512U);  // header, content, two empty blocks
  EXPECT_STREQ(bytes.c_str(), "dir/a.txt");
  EXPECT_EQ(bytes.substr(124, 11), "00000000005");
  EXPECT_EQ(bytes.substr(257, 5), "ustar");
  EXPECT_EQ(bytes.substr(512, 5), "hello");
  unsigned sum = 0;
  for (size_t i = 0; i < 512; ++i) {
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(bytes[i]);
  }
  EXPECT_EQ(std::stoul(bytes.substr(148, 6), nullptr, 8), sum);
}

TEST(TarWriter, FilesOfWholeBlocksAreNotPadded) {
  TarWriter tar(0);
  ASSERT_TRUE(tar.add("a", std::string(1'024, 'x')).has_value());
  ASSERT_TRUE(tar.add("empty", "").has_value());
  EXPECT_EQ(tar.finish().size(), 512 + 1'024 + 512 + 1'024U);
}

TEST(TarWriter, RefusesNamesThatDoNotFit) {
  TarWriter tar(0);
  EXPECT_FALSE(tar.add("", "x").has_value());
  EXPECT_FALSE(tar.add("/etc/passwd", "x").has_value());
  EXPECT_FALSE(tar.add(std::string(101, 'n'), "x").has_value());
}

TEST(Gzip, WhatIsCompressedComesBack) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "line " + std::to_string(i * 7919 % 1'000) + "\n";

  const auto packed = to_gzip(text);

  ASSERT_TRUE(packed.has_value());
  EXPECT_LT(packed->size(), text.size() / 2);
  EXPECT_EQ(packed->substr(0, 3), "\x1f\x8b\x08");
  namespace zlib = boost::beast::zlib;
  zlib::inflate_stream stream;
  std::string back(text.size() + 16, '\0');
  zlib::z_params parts;
  parts.next_in = packed->data() + 10;
  parts.avail_in = packed->size() - 18;
  parts.next_out = back.data();
  parts.avail_out = back.size();
  boost::system::error_code failure;
  stream.write(parts, zlib::Flush::finish, failure);
  EXPECT_EQ(failure, zlib::error::end_of_stream);
  back.resize(parts.total_out);
  EXPECT_EQ(back, text);
}

}  // namespace
}  // namespace atl::cli
