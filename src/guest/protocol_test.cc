#include "guest/protocol.h"

#include <gtest/gtest.h>

namespace atl::guest {
namespace {

TEST(Protocol, ExecReadsBackAsWritten) {
  Exec sent;
  sent.argv = {"sh", "-c", std::string("a\0b", 3)};
  sent.env = {{"K", "v"}};
  sent.cwd = "sub";
  sent.direct = true;
  sent.timeout_ms = 5;
  sent.credit = 9;

  const auto got = decode_exec(encode(sent)).value();

  EXPECT_EQ(got.argv, sent.argv);
  EXPECT_EQ(got.env, sent.env);
  EXPECT_EQ(got.cwd, "sub");
  EXPECT_TRUE(got.direct);
  EXPECT_FALSE(got.stdin_open);
  EXPECT_EQ(got.timeout_ms, 5u);
  EXPECT_EQ(got.credit, 9u);
}

TEST(Protocol, EveryCutOfAMessageIsRefused) {
  ProcessRow row;
  row.argv = {"a", "b"};
  const std::string whole = encode(std::vector{row});

  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(decode_processes(whole.substr(0, length)).has_value()) << length;
  }
  EXPECT_TRUE(decode_processes(whole).has_value());
}

TEST(Protocol, ImpossibleExitStatusesAreRefusedAndNumbersBounded) {
  Exited forged;
  forged.duration_us = UINT64_MAX;
  EXPECT_LT(decode_exited(encode(forged)).value().duration_us, 1ULL << 53);

  forged.exit_code = 4711;
  EXPECT_FALSE(decode_exited(encode(forged)).has_value());
}

TEST(Protocol, ErrorsKeepCodeAndHint) {
  const auto got =
      decode_error(encode_error(Error(Code::not_found, "no file", 2).with_hint("look")));

  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->code(), Code::not_found);
  EXPECT_EQ(got->os_errno(), 2);
  EXPECT_EQ(got->hint(), "look");
}

TEST(Protocol, ChangesReadBackAsWritten) {
  DiffPage page;
  page.more = true;
  page.changes.push_back(
      {ChangeKind::deleted, EntryKind::directory, "/workspace/d", 0, 0755, 5, ""});
  page.changes.push_back(
      {ChangeKind::added, EntryKind::symlink, std::string("/x\xff", 3), 7, 0777, -1, "../t"});

  const auto read = decode_diff_page(encode(page));

  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(read->more);
  ASSERT_EQ(read->changes.size(), 2U);
  EXPECT_EQ(read->changes[0].change, ChangeKind::deleted);
  EXPECT_EQ(read->changes[1].path, std::string("/x\xff", 3));
  EXPECT_EQ(read->changes[1].link_target, "../t");
  EXPECT_EQ(read->changes[1].modified_at_ns, -1);
}

TEST(Protocol, ImpossibleChangesAreRefused) {
  const std::string whole = encode(DiffPage{{Change{}}, false});
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    EXPECT_FALSE(decode_diff_page(whole.substr(0, cut)).has_value()) << cut;
  }
  std::string unknown = whole;
  unknown[5] = 3;  // the kind of change
  EXPECT_FALSE(decode_diff_page(unknown).has_value());
  unknown = whole;
  unknown[6] = 4;  // the kind of file
  EXPECT_FALSE(decode_diff_page(unknown).has_value());
}

}  // namespace
}  // namespace atl::guest
