#include "guest/tool_records.h"

#include <gtest/gtest.h>

namespace atl::guest {
namespace {

template <typename Kind>
Kind there_and_back(const Record& record) {
  RecordReader reader;
  reader.put(encode_record(record));
  auto read = reader.next();
  EXPECT_TRUE(read.has_value());
  EXPECT_TRUE(read->has_value());
  EXPECT_TRUE(reader.is_empty());
  return std::get<Kind>(**read);
}

TEST(ToolRecords, ComeBackAsTheyWere) {
  Entry entry;
  entry.path = "a/b\n\xff";
  entry.kind = EntryKind::symlink;
  entry.size = 7;
  entry.link_target = "c";
  const auto found = there_and_back<Found>(Found{entry});
  EXPECT_EQ(found.entry.path, entry.path);
  EXPECT_EQ(found.entry.name, "b\n\xff");
  EXPECT_EQ(found.entry.link_target, "c");

  const auto match = there_and_back<Match>(Match{"x", 3, "text", true});
  EXPECT_EQ(match.line, 3U);
  EXPECT_TRUE(match.cut);
  const auto watched =
      there_and_back<Watched>(Watched{WatchedKind::moved, EntryKind::file, "to", "from"});
  EXPECT_EQ(watched.from, "from");
  EXPECT_EQ(there_and_back<Archive>(Archive{"bytes"}).bytes, "bytes");
  EXPECT_EQ(there_and_back<Unpacked>(Unpacked{"p", EntryKind::file, 9}).size, 9U);
  EXPECT_TRUE(there_and_back<End>(End{1, 2, 3, 4, true}).more);
  EXPECT_EQ(there_and_back<Failed>(Failed{Error(Code::conflict, "no")}).error.message(), "no");
}

TEST(ToolRecords, WaitForTheirRest) {
  const std::string bytes = encode_record(Match{"x", 3, "text", false});
  RecordReader reader;
  for (size_t i = 0; i + 1 < bytes.size(); ++i) {
    reader.put(bytes.substr(i, 1));
    auto read = reader.next();
    ASSERT_TRUE(read.has_value());
    EXPECT_FALSE(read->has_value());
  }
  reader.put(bytes.substr(bytes.size() - 1));
  auto read = reader.next();
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(read->has_value());
}

TEST(ToolRecords, OfAnImpossibleLengthAreRefused) {
  for (const std::string& head : {std::string("\0\0\0\0", 4), std::string("\xff\xff\xff\x7f", 4)}) {
    RecordReader reader;
    reader.put(head);
    EXPECT_FALSE(reader.next().has_value());
  }
}

TEST(ToolRecords, ThatDoNotAddUpAreRefused) {
  std::string bytes = encode_record(Ready{});
  bytes[0] = 2;  // one byte too many
  RecordReader reader;
  reader.put(bytes + "x");
  EXPECT_FALSE(reader.next().has_value());

  RecordReader unknown;
  unknown.put(std::string("\x01\0\0\0\x7f", 5));
  EXPECT_FALSE(unknown.next().has_value());
}

}  // namespace
}  // namespace atl::guest
