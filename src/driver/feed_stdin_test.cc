#include "driver/feed_stdin.h"

#include <gmock/gmock.h>

#include "base/run_task.h"

namespace atl {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Takes `willing` pieces of stdin and then has closed its end.
class Reader final : public Process {
 public:
  explicit Reader(size_t willing) : willing_(willing) {}

  ProcessId id() const override { return 1; }
  int pid() const override { return 1; }
  Task<ProcessEvent> next() override { co_return Error(Code::internal, "nobody asks"); }
  void interrupt() override {}
  Task<> write_stdin(std::string bytes) override {
    if (pieces.size() == willing_) co_return Error(Code::unavailable, "broken pipe");
    pieces.push_back(bytes.size());
    co_return Result<>();
  }
  Task<> close_stdin() override {
    closed = true;
    co_return Result<>();
  }

  std::vector<size_t> pieces;
  bool closed = false;

 private:
  size_t willing_;
};

std::shared_ptr<Reader> feed(size_t willing, size_t bytes, AfterStdin after) {
  asio::io_context loop;
  auto reader = std::make_shared<Reader>(willing);
  EXPECT_TRUE(run_task(loop, feed_stdin(reader, std::string(bytes, 'x'), after)));
  return reader;
}

TEST(FeedStdin, WritesEverythingInPiecesThenCloses) {
  const auto reader = feed(10, 150'000, AfterStdin::close);

  EXPECT_THAT(reader->pieces, ElementsAre(65'536, 65'536, 18'928));
  EXPECT_TRUE(reader->closed);
}

TEST(FeedStdin, LeavesItOpenForMore) {
  const auto reader = feed(10, 5, AfterStdin::leave_open);

  EXPECT_THAT(reader->pieces, ElementsAre(5));
  EXPECT_FALSE(reader->closed);
}

TEST(FeedStdin, AProcessThatReadsNoMoreIsNoError) {
  const auto reader = feed(0, 150'000, AfterStdin::close);

  EXPECT_THAT(reader->pieces, IsEmpty());
  EXPECT_FALSE(reader->closed);
}

}  // namespace
}  // namespace atl
