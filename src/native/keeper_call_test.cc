#include "native/keeper_call.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>

#include "os/file.h"
#include "os/socket.h"

namespace atl::native {
namespace {

class KeeperCall : public testing::Test {
 protected:
  KeeperCall() : ends_(*os::socket_pair(os::SocketKind::stream)) {}

  Result<std::string> call() {
    const auto directory = os::open_at(AT_FDCWD, "/", O_PATH | O_DIRECTORY);
    return call_keeper(ends_.first.get(), guest::FrameType::keep, directory->get(), stopping_);
  }

  std::pair<Fd, Fd> ends_;
  std::atomic<bool> stopping_ = false;
};

TEST_F(KeeperCall, BringsADirectoryAndTheAnswer) {
  // It is there before anybody asks, as far as a socket is concerned.
  answer_keeper_call(ends_.second.get(), std::string("kept"));

  const auto answer = call();

  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(*answer, "kept");
  std::array<char, guest::kFrameHeader> frame;
  const auto received = os::receive_some(ends_.second.get(), frame);
  ASSERT_TRUE(received);
  EXPECT_EQ(received->descriptors.size(), 1U);
  EXPECT_EQ(frame[guest::kFrameTypeAt], static_cast<char>(guest::FrameType::keep));
}

TEST_F(KeeperCall, SaysWhatWentWrong) {
  answer_keeper_call(ends_.second.get(), Error(Code::conflict, "not now").with_hint("later"));

  const auto answer = call();

  EXPECT_EQ(answer.error().code(), Code::conflict);
  EXPECT_EQ(answer.error().hint(), "later");
}

TEST_F(KeeperCall, NobodyThereIsUnavailable) {
  ends_.second.close();
  EXPECT_FALSE(call());
}

TEST_F(KeeperCall, EndsWhenTheDaemonStops) {
  stopping_ = true;
  EXPECT_EQ(call().error().code(), Code::unavailable);
}

}  // namespace
}  // namespace atl::native
