#include "cli/making_line.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <boost/asio/post.hpp>

#include "base/run_task.h"
#include "cli/json_view.h"
#include "cli/progress.h"
#include "cli/status_line.h"
#include "client/line_reader.h"
#include "net/http_message.h"

namespace atl::cli {
namespace {

using Clock = std::chrono::steady_clock;

// For the daemon to listen to us; whoever waits for a sandbox does not wait longer for its line.
constexpr auto kPatience = std::chrono::milliseconds(200);

uint64_t count_at(const json::Value& value, std::string_view name) {
  const json::Value* found = value.is_object() ? value.get_object().if_contains(name) : nullptr;
  return found != nullptr && found->is_number() ? found->to_number<uint64_t>() : 0;
}

}  // namespace

std::string making_text(std::string_view stage, uint64_t done, uint64_t total, double seconds) {
  std::string text = stage == "pull" ? "fetching the image" : "loading the template";
  if (total > 0) text += " " + progress_line(0, done, total, seconds);
  return text;
}

class MakingLine::Follower final {
 public:
  Follower(const Context& context, const Target& target, std::string name)
      : line_(context), target_(target), name_(std::move(name)) {
    if (!line_.is_shown()) return;
    thread_ = std::thread([this] { follow(); });
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [this] { return is_listening_ || has_left_; });
  }

  void end() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
      // Told on its loop: one that has not begun yet would forget that it was stopped.
      if (loop_ != nullptr) asio::post(*loop_, [loop = loop_] { loop->stop(); });
    }
    if (thread_.joinable()) thread_.join();
    line_.clear();
  }

 private:
  // What it cannot hear is not shown, and no error of whoever waits for the sandbox.
  void follow() {
    listen();
    const std::lock_guard lock(mutex_);
    has_left_ = true;
    changed_.notify_all();
  }

  void listen() {
    client::ConnectionOptions options;
    options.target = target_;
    std::string request_id;
    const auto client = Client::connect(options, request_id);
    if (!client) return;
    {
      const std::lock_guard lock(mutex_);
      if (is_over_) return;
      loop_ = &(*client)->loop();
    }
    std::string where = "/v1/events?state=starting";
    if (!name_.empty()) where += "&sandbox=" + net::percent_encode(name_);
    auto request = (*client)->connection().make_request(net::Method::get, std::move(where));
    request.headers.add("Accept", "text/event-stream");
    const auto on_line = [this](std::string_view line) { return take(line); };
    const auto ended = run_task((*client)->loop(), client::read_lines((*client)->connection(),
                                                                      std::move(request), on_line));
    static_cast<void>(ended);
    const std::lock_guard lock(mutex_);
    loop_ = nullptr;
  }

  Result<> take(std::string_view line) {
    if (line.starts_with("retry:")) {  // the first that it says
      const std::lock_guard lock(mutex_);
      is_listening_ = true;
      changed_.notify_all();
    }
    constexpr std::string_view kData = "data: ";
    if (!line.starts_with(kData)) return {};
    const auto event = parse_answer(line.substr(kData.size()));
    if (!event || text_at(*event, "type") != "sandbox.progress") return {};
    const std::string sandbox = text_at(*event, "sandbox");
    if (shown_.empty()) shown_ = sandbox;
    const json::Value* progress = event->get_object().if_contains("progress");
    if (shown_ != sandbox || progress == nullptr) return {};
    const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    line_.draw(making_text(text_at(*progress, "stage"), count_at(*progress, "done"),
                           count_at(*progress, "total"), seconds));
    return {};
  }

  StatusLine line_;
  Target target_;
  std::string name_;
  std::string shown_;  // the sandbox; "" = none yet
  Clock::time_point began_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_listening_ = false;
  bool has_left_ = false;
  bool is_over_ = false;              // nobody waits any more
  asio::io_context* loop_ = nullptr;  // of the thread, while it listens
  std::thread thread_;
};

MakingLine::MakingLine(const Context& context, std::string name) {
  const auto search = find_target(context.args, find_variable);
  if (search && search->found)
    follower_ = std::make_unique<Follower>(context, *search->found, std::move(name));
}

MakingLine::~MakingLine() { end(); }

void MakingLine::end() {
  if (follower_) follower_->end();
}

}  // namespace atl::cli
