#include "client/client.h"

#include <atoll/background_client.h>
#include <atoll/client.h>

#include <future>
#include <mutex>

#include "base/run_task.h"
#include "library/answers.h"
#include "library/plan.h"

namespace atoll_client {
namespace {

template <typename T>
T take(atl::Result<T> result) {
  if (!result) raise(result.error(), "");
  return *std::move(result);
}

// What one call at a time uses: a loop and its connections.
struct Lane {
  std::string request_id;
  std::unique_ptr<atl::client::Client> client;
};

}  // namespace

struct Client::Impl {
  explicit Impl(const Options& given) : options(given), daemon(take(find_daemon(given))) {
    idle.push_back(make_lane());  // a URL that is none is told at once
  }

  std::unique_ptr<Lane> make_lane() const {
    auto lane = std::make_unique<Lane>();
    lane->client = take(atl::client::Client::connect(daemon, lane->request_id));
    return lane;
  }

  std::unique_ptr<Lane> borrow() {
    {
      const std::lock_guard lock(mutex);
      if (!idle.empty()) {
        auto lane = std::move(idle.back());
        idle.pop_back();
        return lane;
      }
    }
    return make_lane();
  }

  void give_back(std::unique_ptr<Lane> lane) {
    constexpr size_t kMostIdle = 16;
    const std::lock_guard lock(mutex);
    if (idle.size() < kMostIdle) idle.push_back(std::move(lane));
  }

  BackgroundClient& background() {
    const std::lock_guard lock(mutex);
    if (!relays) {
      Options same = options;
      same.url = daemon.target.url;
      same.key = daemon.target.key;
      relays = std::make_unique<BackgroundClient>(same);
    }
    return *relays;
  }

  template <typename T>
  T wait_here(const Call<T>& call) {
    auto lane = borrow();
    Caller caller{lane->client->connection(), options.longest_stream};
    auto result = atl::run_task(lane->client->loop(), call.plan().begin(caller));
    const std::string request_id = lane->request_id;
    give_back(std::move(lane));
    if (!result) std::rethrow_exception(to_exception(caller, result.error(), request_id));
    if constexpr (!std::is_void_v<T>) return *std::move(result);
  }

  // What it leaves behind goes on in the background.
  template <typename T>
  T wait_there(const Call<T>& call) {
    // Shared, because whoever keeps it may still be at it when we have the answer.
    const auto promise = std::make_shared<std::promise<Answer<T>>>();
    background().start<T>(call,
                          [promise](Answer<T> answer) { promise->set_value(std::move(answer)); });
    auto answer = promise->get_future().get();
    if (answer.error) std::rethrow_exception(answer.error);
    if constexpr (!std::is_void_v<T>) return *std::move(answer.value);
  }

  const Options options;
  const atl::client::ConnectionOptions daemon;
  std::mutex mutex;
  std::vector<std::unique_ptr<Lane>> idle;
  std::unique_ptr<BackgroundClient> relays;
};

Client::Client(const Options& options) : impl_(std::make_unique<Impl>(options)) {}
Client::~Client() = default;

template <typename T>
T Client::wait(const Call<T>& call) {
  const bool leaves_something = call.plan().afterwards == Afterwards::relay;
  return leaves_something ? impl_->wait_there(call) : impl_->wait_here(call);
}

void Sandbox::end() noexcept {
  if (!std::exchange(owned_, false)) return;
  try {
    client_->wait(calls::destroy(info_.id));
  } catch (const std::exception&) {
    return;  // its time to live ends it, or the daemon; destroy() would have told
  }
}

#define ATOLL_CLIENT_WAIT(T) template T Client::wait<T>(const Call<T>& call);
ATOLL_CLIENT_FOR_EACH_ANSWER(ATOLL_CLIENT_WAIT)

}  // namespace atoll_client
