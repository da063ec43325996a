// An engine that answers what a test says, for tests.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace atl::container {

// Before an answer that takes a while.
inline constexpr std::string_view kSlowly = "slowly:";

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
        const ssize_t got = read(client.get(), request, sizeof request);
        if (got <= 0) continue;
        const std::string asked(request, static_cast<size_t>(got));
        const std::lock_guard lock(mutex_);
        asked_.push_back(asked.substr(0, asked.find(" HTTP/")));
        if (answer.starts_with(kSlowly))
          std::this_thread::sleep_for(std::chrono::milliseconds(300));
        // Whoever has given up by now does not hear it.
        const std::string_view text =
            answer.starts_with(kSlowly) ? std::string_view(answer).substr(kSlowly.size()) : answer;
        const ssize_t said = send(client.get(), text.data(), text.size(), MSG_NOSIGNAL);
        EXPECT_TRUE(said == static_cast<ssize_t>(text.size()) || errno == EPIPE);
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
  // "GET /v1.41/info" of each request so far.
  std::vector<std::string> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> asked_;
  std::string directory_ = "/tmp/atoll-engine-XXXXXX";
  std::string path_;
  Fd listener_;
  std::thread thread_;
};

inline std::string answer(int status, const std::string& body, const std::string& headers = {}) {
  return "HTTP/1.1 " + std::to_string(status) + " Said\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

inline std::string ping(const std::string& version) {
  return answer(200, "OK", "Api-Version: " + version + "\r\n");
}

}  // namespace atl::container
