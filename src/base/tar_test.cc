#include "base/tar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace atl {
namespace {

using testing::HasSubstr;

class Collected final : public TarSink {
 public:
  Result<> begin(const TarEntry& entry) override {
    entries.push_back(entry);
    contents.emplace_back();
    return {};
  }
  Result<> bytes(std::string_view bytes) override {
    contents.back() += bytes;
    return {};
  }
  Result<> end() override {
    ++ended;
    return {};
  }

  std::vector<TarEntry> entries;
  std::vector<std::string> contents;
  size_t ended = 0;
};

std::string file_entry(const std::string& path, const std::string& content) {
  TarEntry entry{.path = path, .size = content.size(), .mode = 0644};
  return tar_header(entry) + content + tar_padding(content.size());
}

std::string link_entry(TarKind kind, const std::string& path, const std::string& target) {
  return tar_header({.path = path, .kind = kind, .link_target = target});
}

// Puts the right sum into a header that was tampered with.
std::string resummed(std::string block) {
  for (size_t i = 148; i < 156; ++i) block[i] = ' ';
  unsigned sum = 0;
  for (size_t i = 0; i < 512; ++i) sum += static_cast<uint8_t>(block[i]);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  block.replace(148, 7, std::string(digits, 7));
  return block;
}

std::string with_type(std::string entry, char type) {
  entry[156] = type;
  return resummed(std::move(entry));
}

Result<> read_all(const std::string& archive, Collected& into, size_t piece = 7) {
  TarReader reader(into);
  for (size_t at = 0; at < archive.size(); at += piece)
    TRY_OK(reader.put(std::string_view(archive).substr(at, piece)));
  return reader.finish();
}

void expect_refused(const std::string& entries, const std::string& why) {
  Collected collected;
  const auto read = read_all(entries + tar_end(), collected);
  ASSERT_FALSE(read.has_value()) << why;
  EXPECT_EQ(read.error().code(), Code::invalid_argument);
  EXPECT_THAT(read.error().message(), HasSubstr(why));
}

TEST(Tar, ComesBackAsItWasWhereverItIsCut) {
  const std::string long_path = std::string(120, 'd') + "/" + std::string(200, 'f') + "\n\xff";
  const std::string archive =
      tar_header({.path = "dir", .kind = TarKind::directory, .mode = 0750}) +
      file_entry("dir/file", std::string(1000, 'x')) + file_entry(long_path, "") +
      link_entry(TarKind::symlink, "dir/link", "../" + std::string(150, 'l')) + tar_end();
  for (const size_t piece : {1UL, 511UL, 512UL, 100'000UL}) {
    Collected collected;
    ASSERT_TRUE(read_all(archive, collected, piece).has_value());
    ASSERT_EQ(collected.entries.size(), 4U);
    EXPECT_EQ(collected.ended, 4U);
    EXPECT_EQ(collected.entries[0].kind, TarKind::directory);
    EXPECT_EQ(collected.entries[0].mode, 0750U);
    EXPECT_EQ(collected.contents[1], std::string(1000, 'x'));
    EXPECT_EQ(collected.entries[2].path, long_path);
    EXPECT_EQ(collected.entries[3].link_target, "../" + std::string(150, 'l'));
  }
}

TEST(Tar, SizesBeyondTheHeadersFieldAreTold) {
  const std::string header = tar_header({.path = "large", .size = uint64_t{20} << 30});
  Collected collected;
  TarReader reader(collected);
  ASSERT_TRUE(reader.put(header).has_value());
  ASSERT_EQ(collected.entries.size(), 1U);
  EXPECT_EQ(collected.entries[0].size, uint64_t{20} << 30);
}

TEST(Tar, DotPartsGo) {
  Collected collected;
  ASSERT_TRUE(read_all(file_entry("././a//b", "x") + tar_end(), collected).has_value());
  EXPECT_EQ(collected.entries[0].path, "a/b");
}

TEST(Tar, PathsThatLeadOutAreRefused) {
  expect_refused(file_entry("/etc/passwd", "x"), "begins at the root");
  expect_refused(file_entry("../x", "x"), "climbs out");
  expect_refused(file_entry("a/../../x", "x"), "climbs out");
  expect_refused(file_entry(std::string(99, 'a') + "/../b", "x"), "climbs out");
  expect_refused(file_entry(std::string(300, 'a'), "x"), "too long a name");
}

TEST(Tar, LinksThatLeadOutAreRefused) {
  expect_refused(link_entry(TarKind::symlink, "l", "/etc"), "leads outside");
  expect_refused(link_entry(TarKind::symlink, "l", ".."), "leads outside");
  expect_refused(link_entry(TarKind::symlink, "d/l", "../.."), "leads outside");
  // Down and up again: where the way down leads is another link's choice.
  expect_refused(link_entry(TarKind::symlink, "l", "a/b/../.."), "leads outside");
  expect_refused(link_entry(TarKind::symlink, "l", ""), "link to nowhere");
  expect_refused(link_entry(TarKind::hard_link, "l", "../x"), "climbs out");
  expect_refused(link_entry(TarKind::hard_link, "l", "/etc/passwd"), "begins at the root");
  Collected collected;
  EXPECT_TRUE(
      read_all(link_entry(TarKind::symlink, "d/l", "../x") + tar_end(), collected).has_value());
}

TEST(Tar, SpecialFilesAreRefused) {
  for (const char type : {'3', '4', '6'})
    expect_refused(with_type(file_entry("x", ""), type), "device or a pipe");
  for (const char type : {'S', 'V', 'M', 'D', 'Z'})
    expect_refused(with_type(file_entry("x", ""), type), "unknown kind");
}

TEST(Tar, NumbersWithoutSenseAreRefused) {
  std::string negative = file_entry("x", "");
  negative.replace(124, 12, std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12));
  expect_refused(resummed(negative), "too large");
  std::string letters = file_entry("x", "");
  letters.replace(124, 12, "0000000x000");
  expect_refused(resummed(letters), "number that is none");
  std::string huge = file_entry("x", "");
  huge.replace(124, 12, std::string("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12));
  expect_refused(resummed(huge), "too large");
}

TEST(Tar, WhatIsDamagedIsRefused) {
  std::string damaged = file_entry("x", "y");
  damaged[0] = 'z';
  expect_refused(damaged, "damaged");
  expect_refused(std::string(512, 'x'), "no tar archive");
}

TEST(Tar, DevicesAreLeftOutForWhoeverWantsThatAndTheRestIsWhole) {
  Collected collected;
  TarReader reader(collected, TarLinks::inside, TarSpecials::left_out);
  ASSERT_TRUE(reader.put(with_type(file_entry("null", ""), '3') + file_entry("x", "y") +
                         with_type(file_entry("pipe", ""), '6') + tar_end()));
  ASSERT_TRUE(reader.finish());
  EXPECT_EQ(reader.left_out(), 2u);
  ASSERT_EQ(collected.entries.size(), 1u);
  EXPECT_EQ(collected.entries[0].path, "x");
  EXPECT_EQ(collected.contents[0], "y");
  // One that has content is none.
  EXPECT_FALSE(TarReader(collected, TarLinks::inside, TarSpecials::left_out)
                   .put(with_type(file_entry("null", "x"), '3')));
}

TEST(Tar, ExtendedHeadersCannotSayWhatIsForbidden) {
  const auto pax = [](const std::string& records) {
    std::string block = with_type(file_entry("pax", records), 'x');
    return block;
  };
  expect_refused(pax("16 path=/outside\n").substr(0, 1024) + file_entry("x", ""), "damaged header");
  expect_refused(pax("17 path=/outside\n") + file_entry("x", ""), "begins at the root");
  expect_refused(pax("22 GNU.sparse.major=1\n") + file_entry("x", ""), "sparse");
  expect_refused(pax("29 size=99999999999999999999\n") + file_entry("x", ""), "too large");
  expect_refused(pax("10 path=a\n10 path=b\n") + file_entry("x", ""), "two names");
  expect_refused(pax("999999999999999999999 path=a\n") + file_entry("x", ""), "damaged header");
  expect_refused(with_type(file_entry("pax", "10 path=a\n"), 'g') + file_entry("x", ""),
                 "all of its entries");
}

TEST(Tar, GnuLongNamesAreRead) {
  const std::string name(150, 'n');
  Collected collected;
  const std::string archive =
      with_type(file_entry("././@LongLink", name + std::string(1, '\0')), 'L') +
      file_entry("n", "x");
  ASSERT_TRUE(read_all(archive + tar_end(), collected).has_value());
  EXPECT_EQ(collected.entries[0].path, name);
  expect_refused(with_type(file_entry("l", "../up"), 'L') + file_entry("n", "x"), "climbs out");
}

TEST(Tar, AnArchiveThatEndsBeforeItsEndIsRefused) {
  const std::string archive = file_entry("a", "some text") + tar_end();
  for (const size_t length : {0UL, 100UL, 512UL, 515UL, 1024UL}) {
    Collected collected;
    EXPECT_FALSE(read_all(archive.substr(0, length), collected).has_value()) << length;
  }
}

TEST(Tar, SetUserIdIsNotTaken) {
  Collected collected;
  ASSERT_TRUE(
      read_all(tar_header({.path = "x", .mode = 04755}) + tar_end(), collected).has_value());
  EXPECT_EQ(collected.entries[0].mode, 0755U);
}

}  // namespace
}  // namespace atl
