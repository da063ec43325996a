// What an engine may do wrong; what a real one does right is in tests/conformance.
#include "container/engine_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include <boost/asio/io_context.hpp>

#include "base/run_task.h"
#include "container/engine_images.h"

namespace atl::container {
namespace {

using testing::HasSubstr;

// Answers each connection with the next text, and then closes.
class ScriptedEngine final {
 public:
  explicit ScriptedEngine(std::vector<std::string> answers) {
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
    path_ = directory_ + "/engine.sock";
    listener_ = Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_.get(), 8), 0);
    thread_ = std::thread([this, answers = std::move(answers)] {
      for (const auto& answer : answers) {
        const Fd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!client) return;
        char request[8192];
        if (read(client.get(), request, sizeof request) <= 0) continue;
        // Whoever has given up by now does not hear it.
        const ssize_t said = send(client.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
        EXPECT_TRUE(said == static_cast<ssize_t>(answer.size()) || errno == EPIPE);
      }
    });
  }
  ~ScriptedEngine() {
    shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
    unlink(path_.c_str());
    rmdir(directory_.c_str());
  }

  const std::string& path() const { return path_; }

 private:
  std::string directory_ = "/tmp/atoll-engine-XXXXXX";
  std::string path_;
  Fd listener_;
  std::thread thread_;
};

std::string answer(int status, const std::string& body, const std::string& headers = {}) {
  return "HTTP/1.1 " + std::to_string(status) + " Said\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string ping(const std::string& version) {
  return answer(200, "OK", "Api-Version: " + version + "\r\n");
}

TEST(EngineClient, RefusesAnEngineThatIsTooOld) {
  asio::io_context loop;
  for (const char* version : {"1.40", "2.0", "", "1.x"}) {
    ScriptedEngine engine({ping(version)});
    EngineClient client(loop.get_executor(), kDocker, engine_at_socket(engine.path()));

    const auto greeted = run_task(loop, client.line().greet());

    ASSERT_FALSE(greeted.has_value()) << version;
    EXPECT_EQ(greeted.error().code(), Code::unsupported);
    EXPECT_THAT(greeted.error().hint(), HasSubstr("1.41"));
  }
}

TEST(EngineClient, SaysThatNobodyIsThere) {
  asio::io_context loop;
  EngineClient client(loop.get_executor(), kDocker, engine_at_socket("/nonexistent/docker.sock"));

  const auto greeted = run_task(loop, client.line().greet());

  ASSERT_FALSE(greeted.has_value());
  EXPECT_EQ(greeted.error().code(), Code::unavailable);
  EXPECT_EQ(greeted.error().message(),
            "docker is not running: there is no /nonexistent/docker.sock");
  EXPECT_THAT(greeted.error().hint(), HasSubstr("DOCKER_HOST"));
}

TEST(EngineClient, SaysThatWhatWasNamedIsNoSocket) {
  asio::io_context loop;
  EngineClient client(loop.get_executor(), kPodman, engine_at_socket("/etc/passwd"));

  const auto greeted = run_task(loop, client.line().greet());

  ASSERT_FALSE(greeted.has_value());
  EXPECT_EQ(greeted.error().message(), "podman is not there: /etc/passwd is no socket");
  EXPECT_THAT(greeted.error().hint(), HasSubstr("CONTAINER_HOST=unix:///path"));
}

TEST(EngineClient, SaysThatAnAnswerWasLost) {
  asio::io_context loop;
  ScriptedEngine engine({ping("1.41"), "HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{"});
  EngineClient client(loop.get_executor(), kDocker, engine_at_socket(engine.path()));

  const auto created = run_task(loop, client.create("atoll-x", "{}"));

  ASSERT_FALSE(created.has_value());
  EXPECT_EQ(created.error().code(), Code::unavailable);
  EXPECT_THAT(created.error().message(), HasSubstr("broke off before its answer"));
  EXPECT_THAT(created.error().hint(), HasSubstr("is removed when it is back"));
}

TEST(EngineClient, UnderstandsATakenNameFromBoth) {
  asio::io_context loop;
  for (const int status : {409, 500}) {
    ScriptedEngine engine(
        {ping("1.41"),
         answer(status, R"({"message":"the container name is already in use by x"})")});
    EngineClient client(loop.get_executor(), kPodman, engine_at_socket(engine.path()));

    EXPECT_EQ(run_task(loop, client.create("atoll-x", "{}")).error().code(), Code::already_exists);
  }
}

TEST(EngineClient, DoesNotBelieveNonsense) {
  asio::io_context loop;
  ScriptedEngine engine({ping("1.41"), answer(200, "<html>")});
  EngineClient client(loop.get_executor(), kDocker, engine_at_socket(engine.path()));

  EXPECT_EQ(run_task(loop, client.inspect("atoll-x")).error().code(), Code::internal);
}

TEST(EngineClient, RefusesVolumesThatItCannotCover) {
  asio::io_context loop;
  for (const char* path : {"/", "relative", "/a/../b", "/a,size=1", "/a:b"}) {
    ScriptedEngine engine({ping("1.41"), answer(200, R"({"Config":{"Volumes":{")" +
                                                         std::string(path) + R"(":{}}}})")});
    EngineClient client(loop.get_executor(), kDocker, engine_at_socket(engine.path()));

    const auto found = run_task(loop, EngineImages(client.line()).inspect("debian:stable-slim"));

    ASSERT_FALSE(found.has_value()) << path;
    EXPECT_EQ(found.error().code(), Code::unsupported);
  }
}

TEST(EngineClient, RemovesUntilItIsGone) {
  asio::io_context loop;
  // Somebody removes it already; then it is still there for a moment; then it is not.
  ScriptedEngine engine({ping("1.45"), answer(409, R"({"message":"removal is in progress"})"),
                         answer(204, ""), answer(200, R"({"State":{"Running":false}})"),
                         answer(404, R"({"message":"No such container"})")});
  EngineClient client(loop.get_executor(), kDocker, engine_at_socket(engine.path()));

  const auto removed = run_task(loop, client.remove("atoll-x"));

  EXPECT_TRUE(removed.has_value()) << removed.error().message();
}

TEST(EngineClient, EndsItsWaitsWhenItIsClosed) {
  asio::io_context loop;
  ScriptedEngine engine({ping("1.41"), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"});
  EngineClient client(loop.get_executor(), kDocker, engine_at_socket(engine.path()));
  client.close();

  EXPECT_EQ(run_task(loop, client.wait("atoll-x")).error().code(), Code::cancelled);
}

}  // namespace
}  // namespace atl::container
