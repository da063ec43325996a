#include "os/service_manager.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

#include "base/fd.h"

namespace atl::os {
namespace {

class ServiceManager : public ::testing::Test {
 protected:
  // Listens where a manager would; "@" begins a name outside of the file system.
  void listen(const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    socket_ = Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    ASSERT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  std::string heard() const {
    char text[64];
    const ssize_t length = recv(socket_.get(), text, sizeof text, 0);
    return length < 0 ? "nothing" : std::string(text, static_cast<size_t>(length));
  }
  ~ServiceManager() override { unsetenv("NOTIFY_SOCKET"); }

  Fd socket_;
};

TEST_F(ServiceManager, HearsWhatIsTold) {
  const std::string name = "/tmp/atoll-notify-" + std::to_string(getpid());
  listen(name);

  EXPECT_TRUE(tell_service_manager("READY=1"));

  EXPECT_EQ(heard(), "READY=1");
  unlink(name.c_str());
}

TEST_F(ServiceManager, MayListenOutsideOfTheFileSystem) {
  listen("@atoll-notify-" + std::to_string(getpid()));

  EXPECT_TRUE(tell_service_manager("STOPPING=1"));

  EXPECT_EQ(heard(), "STOPPING=1");
}

TEST_F(ServiceManager, MayBeMissing) { EXPECT_TRUE(tell_service_manager("READY=1")); }

TEST_F(ServiceManager, IsAnErrorWhereItDoesNotListen) {
  setenv("NOTIFY_SOCKET", "/nowhere/notify", 1);
  EXPECT_FALSE(tell_service_manager("READY=1"));
  setenv("NOTIFY_SOCKET", "relative", 1);
  EXPECT_FALSE(tell_service_manager("READY=1"));
  setenv("NOTIFY_SOCKET", std::string(200, '/').c_str(), 1);
  EXPECT_FALSE(tell_service_manager("READY=1"));
}

}  // namespace
}  // namespace atl::os
