#include "container/agent_door.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/run_task.h"
#include "native/agent_places.h"
#include "os/file.h"
#include "os/socket.h"

namespace atl::container {
namespace {

class AgentDoorTest : public testing::Test {
 protected:
  AgentDoorTest() { EXPECT_NE(mkdtemp(parent_.data()), nullptr); }
  ~AgentDoorTest() override { EXPECT_TRUE(os::remove_tree(AT_FDCWD, parent_).has_value()); }

  std::unique_ptr<AgentDoor> make() {
    auto door = AgentDoor::make(loop_.get_executor(), parent_, "box");
    EXPECT_TRUE(door.has_value());
    return door ? std::move(*door) : nullptr;
  }

  Result<Fd> knock(std::string_view greeting) {
    TRY(const auto directory, os::open_at(AT_FDCWD, parent_ + "/box", O_PATH | O_DIRECTORY));
    TRY(auto socket, os::connect_at(directory.get(), "agent.sock", os::SocketKind::stream));
    TRY_OK(os::write_all(socket.get(), greeting));
    return socket;
  }

  static Task<AgentCall> await(AgentDoor& door, pid_t agent) {
    door.expect(agent);
    return door.await_call();
  }

  bool has_socket() const { return access((parent_ + "/box/agent.sock").c_str(), F_OK) == 0; }

  asio::io_context loop_;
  std::string parent_ = "/tmp/atoll-door-XXXXXX";
};

TEST_F(AgentDoorTest, HearsTheAgentAndClosesBehindIt) {
  const auto door = make();
  ASSERT_TRUE(door->open().has_value());
  const auto caller = knock({&native::kCallNew, 1});
  ASSERT_TRUE(caller.has_value());

  const auto call = run_task(loop_, await(*door, getpid()));

  ASSERT_TRUE(call.has_value()) << call.error().message();
  EXPECT_TRUE(call->is_new);
  EXPECT_FALSE(has_socket());
}

TEST_F(AgentDoorTest, SendsStrangersAwayAndGivesUpOnTooMany) {
  const auto door = make();
  ASSERT_TRUE(door->open().has_value());
  std::vector<Fd> callers;
  for (int i = 0; i < 64; ++i) {
    auto caller = knock({&native::kCallAgain, 1});
    ASSERT_TRUE(caller.has_value());
    callers.push_back(std::move(*caller));
  }

  // We are not process 1 of the host.
  const auto call = run_task(loop_, await(*door, 1));

  ASSERT_FALSE(call.has_value());
  EXPECT_EQ(call.error().code(), Code::unavailable);
  EXPECT_FALSE(has_socket());
}

TEST_F(AgentDoorTest, IsMadeOnceAndTakenUpAgain) {
  const auto door = make();

  const auto second = AgentDoor::make(loop_.get_executor(), parent_, "box");
  const auto again = AgentDoor::take_up(loop_.get_executor(), parent_, "box");

  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code(), Code::already_exists);
  EXPECT_TRUE(again.has_value());
}

TEST_F(AgentDoorTest, LeavesNothing) {
  auto door = make();
  ASSERT_TRUE(door->open().has_value());
  door.reset();

  EXPECT_FALSE(has_socket());
  EXPECT_TRUE(AgentDoor::remove(parent_, "box").has_value());
  EXPECT_TRUE(AgentDoor::remove(parent_, "box").has_value());
  EXPECT_NE(access((parent_ + "/box").c_str(), F_OK), 0);
}

}  // namespace
}  // namespace atl::container
