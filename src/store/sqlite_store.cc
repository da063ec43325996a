#include "store/sqlite_store.h"

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include <boost/asio/post.hpp>

#include "base/event.h"
#include "store/sqlite_schema.h"
#include "store/sqlite_tables.h"

namespace atl::store {
namespace {

// Bounds how long the first of a group waits for the last.
constexpr size_t kLargestGroup = 256;
constexpr std::chrono::seconds kIdleBeforeCheckpoint{2};

struct Write {
  Transaction transaction;
  OnCommitted on_done;
};

// A read goes through the same queue, so it sees everything that was queued before it.
using Read = std::function<void(Connection&)>;
using Job = std::variant<Write, Read>;

struct Outcome {
  OnCommitted on_done;
  Result<> result;
};

}  // namespace

class SqliteStore::Writer final {
 public:
  Writer(asio::any_io_executor executor, std::unique_ptr<Connection> connection)
      : executor_(std::move(executor)), connection_(std::move(connection)) {
    thread_ = std::thread([this] { run(); });
  }

  ~Writer() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  void push(Job job) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(job));
    }
    wake_.notify_one();
  }

  void post(std::function<void()> work) { asio::post(executor_, std::move(work)); }
  const asio::any_io_executor& executor() const { return executor_; }

 private:
  void run() {
    pthread_setname_np(pthread_self(), "atoll-store");
    for (;;) {
      auto jobs = take();
      if (jobs.empty()) return;
      work_off(std::move(jobs));
    }
  }

  // Waits for work; empty when there is none and the store closes. Idle time is used to empty the
  // WAL.
  std::vector<Job> take() {
    std::unique_lock lock(mutex_);
    const auto has_news = [this] { return stopping_ || !queue_.empty(); };
    while (!has_news()) {
      if (!written_since_checkpoint_) {
        wake_.wait(lock, has_news);
      } else if (!wake_.wait_for(lock, kIdleBeforeCheckpoint, has_news)) {
        written_since_checkpoint_ = false;
        lock.unlock();
        static_cast<void>(connection_->execute("PRAGMA wal_checkpoint(TRUNCATE)"));
        lock.lock();
      }
    }
    std::vector<Job> jobs;
    while (!queue_.empty() && jobs.size() < kLargestGroup) {
      jobs.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    return jobs;
  }

  void work_off(std::vector<Job> jobs) {
    std::vector<Write> group;
    for (auto& job : jobs) {
      if (auto* write = std::get_if<Write>(&job)) {
        group.push_back(std::move(*write));
        continue;
      }
      commit_group(std::exchange(group, {}));
      std::get<Read>(job)(*connection_);
    }
    commit_group(std::move(group));
  }

  void commit_group(std::vector<Write> group) {
    if (group.empty()) return;
    std::vector<Outcome> outcomes;
    outcomes.reserve(group.size());
    for (auto& write : group) outcomes.push_back({std::move(write.on_done), Result<>()});

    auto committed = apply_group(group, outcomes);
    if (!committed) {
      if (connection_->in_transaction()) static_cast<void>(connection_->execute("ROLLBACK"));
      for (auto& outcome : outcomes) outcome.result = committed.error();
    }
    written_since_checkpoint_ = true;
    asio::post(executor_, [outcomes = std::move(outcomes)]() mutable {
      for (auto& outcome : outcomes) {
        if (outcome.on_done) outcome.on_done(std::move(outcome.result));
      }
    });
  }

  // An error means that nothing of the group has happened; what only concerns one member is in its
  // outcome.
  Result<> apply_group(const std::vector<Write>& group, std::vector<Outcome>& outcomes) {
    TRY_OK(set_durability(group));
    TRY_OK(run_statement("BEGIN IMMEDIATE"));
    for (size_t i = 0; i < group.size(); ++i) {
      TRY_OK(run_statement("SAVEPOINT member"));
      outcomes[i].result = apply_one(group[i].transaction);
      if (!outcomes[i].result) {
        if (outcomes[i].result.error().code() != Code::already_exists) {
          return outcomes[i].result.error();
        }
        TRY_OK(run_statement("ROLLBACK TO member"));
      }
      TRY_OK(run_statement("RELEASE member"));
    }
    return run_statement("COMMIT");
  }

  Result<> apply_one(const Transaction& transaction) {
    for (const auto& change : transaction.changes) TRY_OK(apply_change(*connection_, change));
    return {};
  }

  Result<> run_statement(std::string_view literal) {
    TRY(auto statement, connection_->prepare(literal));
    return statement.run();
  }

  Result<> set_durability(const std::vector<Write>& group) {
    auto wanted = Durability::boot;
    for (const auto& write : group) wanted = std::max(wanted, write.transaction.durability);
    if (wanted == durability_) return {};
    TRY_OK(connection_->execute(wanted == Durability::disk ? "PRAGMA synchronous=FULL"
                                                           : "PRAGMA synchronous=NORMAL"));
    durability_ = wanted;
    return {};
  }

  asio::any_io_executor executor_;
  // The writer thread's own.
  std::unique_ptr<Connection> connection_;
  Durability durability_ = Durability::disk;
  bool written_since_checkpoint_ = false;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

namespace {

// What a waiting coroutine and the loop's completion share.
template <typename T>
struct Answer {
  explicit Answer(const asio::any_io_executor& executor) : ready(executor) {}

  void give(Result<T> given) {
    result = std::move(given);
    ready.fire();
  }

  Event ready;
  Result<T> result = Error(Code::cancelled, "the store closed");
};

}  // namespace

SqliteStore::SqliteStore(std::shared_ptr<Writer> writer) : writer_(std::move(writer)) {}

SqliteStore::~SqliteStore() = default;

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(asio::any_io_executor executor,
                                                       std::string path) {
  TRY(auto connection, Connection::open(std::move(path)));
  TRY_OK(prepare_schema(*connection, all_migrations()));
  auto writer = std::make_shared<Writer>(std::move(executor), std::move(connection));
  return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(writer)));
}

Task<Contents> SqliteStore::load() {
  const auto answer = std::make_shared<Answer<Contents>>(writer_->executor());
  writer_->push(Read([answer, writer = writer_.get()](Connection& connection) {
    auto contents = std::make_shared<Result<Contents>>(read_contents(connection));
    writer->post([answer, contents] { answer->give(std::move(*contents)); });
  }));
  CO_TRY_OK(co_await answer->ready.wait());
  co_return std::move(answer->result);
}

Task<std::optional<SandboxRow>> SqliteStore::find_sandbox(std::string id) {
  const auto answer = std::make_shared<Answer<std::optional<SandboxRow>>>(writer_->executor());
  writer_->push(Read([answer, id, writer = writer_.get()](Connection& connection) {
    auto row = std::make_shared<Result<std::optional<SandboxRow>>>(read_sandbox(connection, id));
    writer->post([answer, row] { answer->give(std::move(*row)); });
  }));
  CO_TRY_OK(co_await answer->ready.wait());
  co_return std::move(answer->result);
}

Task<> SqliteStore::commit(Transaction transaction) {
  const auto answer = std::make_shared<Answer<void>>(writer_->executor());
  enqueue(std::move(transaction), [answer](Result<> result) { answer->give(std::move(result)); });
  CO_TRY_OK(co_await answer->ready.wait());
  co_return std::move(answer->result);
}

void SqliteStore::enqueue(Transaction transaction, OnCommitted on_done) {
  writer_->push(Write{std::move(transaction), std::move(on_done)});
}

}  // namespace atl::store
