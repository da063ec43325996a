// ScriptedExtension: an extension for tests, on the test's own loop. Well-behaved unless a line of
// its script says otherwise.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "base/bytes.h"
#include "base/run_task.h"
#include "drivers/extension/extension_driver.h"
#include "drivers/extension/line_stream.h"
#include "drivers/extension/messages.h"
#include "guest/frame.h"
#include "guest/protocol.h"
#include "json/json.h"
#include "json/write.h"
#include "native/agent_places.h"
#include "net/listener.h"
#include "os/file.h"
#include "os/socket.h"

namespace atl::extension {

class ScriptedExtension final {
 public:
  explicit ScriptedExtension(asio::io_context& loop) : loop_(loop) {
    if (mkdtemp(directory_.data()) == nullptr) abort();
    claim.isolation = Isolation::container;
    claim.network = NetworkControl::deny;
    claim.limits.disk = Limit::enforced;
    claim.pause = Pause::memory;
  }
  ~ScriptedExtension() {
    stop();
    (void)os::remove_tree(AT_FDCWD, directory_);
  }

  void start(mode_t mode = 0600) {
    auto above = os::open_at(AT_FDCWD, directory_, O_RDONLY | O_DIRECTORY);
    auto socket = os::listen_at(above->get(), "socket", os::SocketKind::stream, mode);
    auto made = net::Listener::create(
        loop_.get_executor(), *std::move(socket), [this](net::StreamPtr stream, net::Peer) {
          auto lines = std::make_shared<LineStream>(std::move(stream));
          connections_.push_back(lines);
          spawn(loop_.get_executor(), serve(this, lines));
        });
    listener_ = *std::move(made);
  }

  // As kill -9 would: every connection ends, nothing is said.
  void stop() {
    listener_.reset();
    for (const auto& weak : connections_) {
      if (const auto connection = weak.lock()) connection->close();
    }
    connections_.clear();
    loop_.restart();
    loop_.poll();
  }

  Grant grant() const {
    Grant grant;
    grant.manifest.name = "scripted";
    grant.manifest.version = "1";
    grant.manifest.summary = "of a test";
    grant.manifest.socket = directory_ + "/socket";
    grant.manifest.capabilities = claim;
    grant.manifest.capabilities.placement = Placement::host;
    grant.manifest.create_timeout_s = 1;
    grant.uid = getuid();
    grant.trust_isolation = Isolation::container;
    grant.settings = json::Object{{"color", "blue"}};
    return grant;
  }

  ExtensionOptions options() const {
    return {.grant = grant(), .identity = directory_ + "/identity", .agent = "/proc/self/exe"};
  }

  const std::string& directory() const { return directory_; }

  // How many connections hear of ends.
  size_t listening() const {
    return static_cast<size_t>(
        std::ranges::count_if(listeners_, [](const auto& weak) { return !weak.expired(); }));
  }

  // Everybody who listens hears that it has ended.
  void end(const std::string& id, std::optional<int64_t> exit_code) {
    sandboxes.erase(id);
    for (const auto& weak : listeners_) {
      const auto stream = weak.lock();
      if (!stream) continue;
      const std::string line = json::encode(EndedEvent{id, exit_code}) + "\n";
      spawn(loop_.get_executor(), write(stream, line));
    }
  }

  std::map<std::string, std::string> sandboxes;  // id → instance
  std::map<std::string, size_t> called;          // how often
  std::map<std::string, json::Object> last;      // call → what was said
  Claim claim;
  std::string name = "scripted";
  Reached reached = Reached::calls;
  std::set<std::string> configured;  // whose agent has its first words
  std::string last_token;            // of whoever came again
  size_t stranger = 0;               // bytes that an agent says which is none
  // Instead of the answer to a call: this text, and then the end if it has no newline. "" = the
  // connection just ends; "hang" = nothing.
  std::map<std::string, std::string> instead;
  // The same, after what was asked was done.
  std::map<std::string, std::string> afterwards;

 private:
  static Task<> write(std::shared_ptr<LineStream> stream, std::string bytes) {
    co_return co_await stream->write_all(bytes);
  }

  static Task<> serve(ScriptedExtension* self, std::shared_ptr<LineStream> stream) {
    for (;;) {
      CO_TRY(const std::string line, co_await stream->read_line());
      auto parsed = json::parse(line);
      const json::Object said =
          parsed && parsed->is_object() ? parsed->get_object() : json::Object();
      const json::Value* call = said.if_contains("call");
      const std::string what = call != nullptr ? std::string(call->as_string()) : "nothing";
      ++self->called[what];
      self->last[what] = said;
      const auto lie = self->instead.find(what);
      std::string answer = lie != self->instead.end() ? lie->second : self->answer(what, said);
      const auto later = self->afterwards.find(what);
      if (later != self->afterwards.end()) answer = later->second;
      if (answer == "hang") co_return co_await hang(stream);
      CO_TRY_OK(co_await stream->write_all(answer));
      if (!answer.ends_with('\n')) {
        stream->close();
        co_return Result<>();
      }
      if (what == "events") self->listeners_.push_back(stream);
      if (what == "open" && answer.starts_with("{\"ok\""))
        co_return co_await be_agent(self, stream, std::string(said.at("id").as_string()));
    }
  }

  static Task<> hang(std::shared_ptr<LineStream> stream) {
    char byte = 0;
    CO_TRY_OK(co_await stream->read_some(&byte, 1));
    co_return Result<>();
  }

  std::string answer(const std::string& what, const json::Object& said) {
    const auto ok = [](const std::string& text) { return "{\"ok\":" + text + "}\n"; };
    const auto error = [](const std::string& code) {
      return "{\"error\":{\"code\":\"" + code + "\",\"message\":\"so it is\"}}\n";
    };
    if (what == "hello") return ok(json::encode(HelloAnswer{kProtocol, name, "1", claim}));
    if (what == "events") return ok("{}");
    if (what == "list") {
      ListAnswer list;
      for (const auto& [id, instance] : sandboxes) list.sandboxes.push_back({id, instance, {}});
      return ok(json::encode(list));
    }
    const json::Value* id_value = said.if_contains("id");
    if (id_value == nullptr) return error("invalid_argument");
    const std::string id(id_value->as_string());
    if (what == "create") {
      if (sandboxes.contains(id)) return error("already_exists");
      sandboxes[id] = std::string(said.at("instance").as_string());
      return ok("{}");
    }
    if (what == "destroy") {
      sandboxes.erase(id);
      return ok("{}");
    }
    if (!sandboxes.contains(id)) return error("not_found");
    if (what == "open") return ok(json::encode(OpenAnswer{reached}));
    if (what == "pause" || what == "resume" || what == "resize") return ok("{}");
    return error("unsupported");
  }

  // Reads what a new agent is told, and answers each frame with an empty ok.
  static Task<> be_agent(ScriptedExtension* self, std::shared_ptr<LineStream> stream,
                         std::string id) {
    if (self->stranger > 0) {
      const std::string noise(self->stranger, 'x');
      CO_TRY_OK(co_await stream->write_all(noise));
      co_return co_await hang(stream);
    }
    const bool is_new = !self->configured.contains(id);
    ByteWriter greeting;
    greeting.u8(static_cast<uint8_t>(is_new ? native::kCallNew : native::kCallAgain));
    if (self->reached == Reached::answers) greeting.i64(system_clock().boot().count());
    CO_TRY_OK(co_await stream->write_all(greeting.bytes()));
    if (is_new) {
      for (int part = 0; part < 2; ++part) {
        CO_TRY(const auto size, co_await read_exactly(stream, sizeof(uint32_t)));
        CO_TRY_OK(co_await read_exactly(stream, ByteReader(size).u32()));
      }
      self->configured.insert(id);
    } else if (self->reached == Reached::answers) {
      CO_TRY(self->last_token, co_await read_exactly(stream, native::kTokenBytes));
    }
    for (;;) {
      CO_TRY(const auto head, co_await read_exactly(stream, guest::kFrameHeader));
      ByteReader reader(head);
      const uint32_t size = reader.u32();
      const uint32_t channel = reader.u32();
      const auto type = static_cast<guest::FrameType>(head[guest::kFrameTypeAt]);
      CO_TRY_OK(co_await read_exactly(stream, size));
      std::string answer;
      const bool is_hello = type == guest::FrameType::hello;
      guest::append_frame(answer, guest::FrameType::ok, channel,
                          is_hello ? guest::encode(guest::HelloOk{guest::kProtocolVersion}) : "");
      CO_TRY_OK(co_await stream->write_all(answer));
    }
  }

  static Task<std::string> read_exactly(std::shared_ptr<LineStream> stream, size_t size) {
    std::string bytes(size, '\0');
    for (size_t have = 0; have < size;) {
      CO_TRY(const size_t got, co_await stream->read_some(bytes.data() + have, size - have));
      if (got == 0) co_return Error(Code::unavailable, "gone");
      have += got;
    }
    co_return bytes;
  }

  asio::io_context& loop_;
  std::string directory_ = "/tmp/atoll-scripted-XXXXXX";
  std::unique_ptr<net::Listener> listener_;
  std::vector<std::weak_ptr<LineStream>> connections_;
  std::vector<std::weak_ptr<LineStream>> listeners_;
};

}  // namespace atl::extension
