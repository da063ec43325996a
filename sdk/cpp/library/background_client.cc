#include <atoll/background_client.h>
#include <signal.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "library/answers.h"
#include "library/plan.h"

namespace atoll_client {

namespace asio = boost::asio;

struct Ticket::Impl {
  std::mutex mutex;
  bool is_cancelled = false;
  std::function<void()> give_up;  // while the call is under way
};

Ticket::Ticket() : impl_(std::make_shared<Impl>()) {}

void Ticket::cancel() const {
  const std::lock_guard lock(impl_->mutex);
  impl_->is_cancelled = true;
  if (impl_->give_up) impl_->give_up();
}

namespace {

atl::Error given_up() { return atl::Error(atl::Code::cancelled, "the call was given up"); }

// The program's signals are its own: none comes to our thread.
class NoSignals final {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

// A call under way. Everything but the ticket is the loop's.
struct Running {
  Running(const atl::client::Connection& shared, std::chrono::milliseconds longest_stream)
      : connection(shared.for_caller(request_id)), caller{connection, longest_stream} {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  std::string request_id;
  atl::client::Connection connection;
  Caller caller;
  asio::cancellation_signal stop;
};

template <typename T>
struct RunningCall final : Running {
  using Running::Running;

  std::optional<Call<T>> call;
  std::function<void(Answer<T>)> done;
  std::optional<atl::Result<T>> result;
};

template <typename T>
asio::awaitable<void> perform(std::shared_ptr<RunningCall<T>> running) {
  auto result = co_await running->call->plan().begin(running->caller);
  running->result.emplace(std::move(result));
}

template <typename T>
Answer<T> to_answer(RunningCall<T>& running) {
  Answer<T> answer;
  // Without a result an exception has ended it: that is how Asio gives up.
  if (!running.result) running.result.emplace(given_up());
  if (!*running.result) {
    answer.error = to_exception(running.caller, running.result->error(), running.request_id);
  } else if constexpr (!std::is_void_v<T>) {
    answer.value.emplace(**std::move(running.result));
  }
  return answer;
}

}  // namespace

struct BackgroundClient::Impl {
  explicit Impl(const Options& given) : options(given) {
    auto daemon = find_daemon(options);
    if (!daemon) raise(daemon.error(), "");
    auto made = atl::client::Connection::create(loop.get_executor(), *daemon, nobodys);
    if (!made) raise(made.error(), "");
    connection.emplace(*std::move(made));
    const NoSignals quiet;
    thread = std::thread([this] { loop.run(); });
  }

  ~Impl() {
    asio::post(loop, [this] {
      is_closing = true;
      const auto all = under_way;
      for (const auto& running : all) running->stop.emit(asio::cancellation_type::terminal);
    });
    {
      std::unique_lock lock(mutex);
      all_done.wait(lock, [this] { return calls == 0; });
    }
    loop.stop();
    thread.join();
  }

  // On the loop.
  template <typename T>
  void begin(std::shared_ptr<RunningCall<T>> running, const std::shared_ptr<Ticket::Impl>& ticket) {
    {
      const std::lock_guard lock(ticket->mutex);
      if (ticket->is_cancelled || is_closing) {
        running->result.emplace(given_up());
      } else {
        ticket->give_up = [this, weak = std::weak_ptr<RunningCall<T>>(running)] {
          asio::post(loop, [weak] {
            if (const auto call = weak.lock()) call->stop.emit(asio::cancellation_type::terminal);
          });
        };
      }
    }
    if (running->result) return end(running, ticket);
    under_way.insert(running);
    asio::co_spawn(loop, perform<T>(running),
                   asio::bind_cancellation_slot(running->stop.slot(),
                                                [this, running, ticket](const std::exception_ptr&) {
                                                  under_way.erase(running);
                                                  end(running, ticket);
                                                }));
  }

  template <typename T>
  void end(const std::shared_ptr<RunningCall<T>>& running,
           const std::shared_ptr<Ticket::Impl>& ticket) {
    {
      const std::lock_guard lock(ticket->mutex);
      ticket->give_up = {};
    }
    running->done(to_answer(*running));
    const std::lock_guard lock(mutex);
    if (--calls == 0) all_done.notify_all();
  }

  const Options options;
  asio::io_context loop{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard{loop.get_executor()};
  std::string nobodys;  // every call has a request id of its own
  std::optional<atl::client::Connection> connection;
  std::set<std::shared_ptr<Running>> under_way;
  bool is_closing = false;

  std::mutex mutex;
  std::condition_variable all_done;
  size_t calls = 0;
  std::thread thread;
};

BackgroundClient::BackgroundClient(const Options& options)
    : impl_(std::make_unique<Impl>(options)) {}
BackgroundClient::~BackgroundClient() = default;

template <typename T>
void BackgroundClient::start(const Call<T>& call, std::function<void(Answer<T> answer)> done,
                             const Ticket& ticket) {
  {
    const std::lock_guard lock(impl_->mutex);
    ++impl_->calls;
  }
  asio::post(impl_->loop,
             [impl = impl_.get(), call, done = std::move(done), ticket = ticket.impl_]() mutable {
               auto running = std::make_shared<RunningCall<T>>(*impl->connection,
                                                               impl->options.longest_stream);
               running->call.emplace(std::move(call));
               running->done = std::move(done);
               impl->begin<T>(std::move(running), ticket);
             });
}

#define ATOLL_CLIENT_START(T)                                                              \
  template void BackgroundClient::start<T>(const Call<T>&, std::function<void(Answer<T>)>, \
                                           const Ticket&);
ATOLL_CLIENT_FOR_EACH_ANSWER(ATOLL_CLIENT_START)

}  // namespace atoll_client
