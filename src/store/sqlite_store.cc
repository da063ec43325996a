#include "store/sqlite_store.h"

#include <pthread.h>
#include <sys/statvfs.h>

#include <condition_variable>
#include <deque>
#include <iterator>
#include <mutex>
#include <thread>

#include <boost/asio/post.hpp>

#include "base/event.h"
#include "store/boot_log.h"
#include "store/change_bytes.h"
#include "store/sqlite_schema.h"
#include "store/sqlite_tables.h"

namespace atl::store {
namespace {

// Bounds how long the first of a group waits for the last.
constexpr size_t kLargestGroup = 256;
constexpr std::chrono::seconds kIdleBeforeCheckpoint{2};
// Nobody waits for what is logged, so it waits for company: one transaction of SQLite costs little
// more with a hundred changes than with one.
constexpr std::chrono::milliseconds kCompany{20};
// After a failure, unless somebody asks for something before.
constexpr std::chrono::seconds kUntilNextTry{1};

struct Write {
  Transaction transaction;
  OnCommitted on_done;
  bool is_logged = false;  // it was acknowledged, and must not be lost any more
};

// A read goes through the same queue, so it sees everything that was queued before it. What it is
// given tells whether it does.
using Read = std::function<void(const Result<>&, Connection&)>;
using Job = std::variant<Write, Read>;

struct Outcome {
  OnCommitted on_done;
  Result<> result;
};

bool is_logged(const Job& job) {
  const auto* write = std::get_if<Write>(&job);
  return write != nullptr && write->is_logged;
}

Result<uint64_t> read_taken(Connection& connection) {
  TRY(auto statement, connection.prepare("SELECT taken FROM boot_log"));
  TRY(const bool row, statement.step());
  return row ? static_cast<uint64_t>(statement.number(0)) : 0;
}

Result<> write_taken(Connection& connection, uint64_t number) {
  TRY(auto statement, connection.prepare("UPDATE boot_log SET taken = ?"));
  return statement.bind(static_cast<int64_t>(number)).run();
}

std::string log_path(const std::string& database) { return database + "-boot"; }

// The tables take what was acknowledged and is only in the log; gives the number of the last.
Result<uint64_t> take_logged(Connection& connection, const std::string& instance) {
  TRY(uint64_t taken, read_taken(connection));
  TRY(const auto entries, BootLog::read(log_path(connection.path()), instance, taken));
  if (entries.empty()) return taken;
  TRY_OK(connection.execute("BEGIN IMMEDIATE"));
  const auto take = [&]() -> Result<> {
    for (const auto& bytes : entries) {
      TRY(const auto changes, changes_from(bytes));
      for (const auto& change : changes) TRY_OK(apply_change(connection, change));
      ++taken;
    }
    TRY_OK(write_taken(connection, taken));
    return connection.execute("COMMIT");
  };
  if (auto done = take(); !done) {
    if (connection.in_transaction()) static_cast<void>(connection.execute("ROLLBACK"));
    return std::move(done).error().with("taking up " + log_path(connection.path()));
  }
  return taken;
}

}  // namespace

class SqliteStore::Writer final {
 public:
  Writer(asio::any_io_executor executor, std::unique_ptr<Connection> connection,
         std::unique_ptr<BootLog> log, uint64_t least_free)
      : executor_(std::move(executor)),
        connection_(std::move(connection)),
        least_free_(least_free),
        log_(std::move(log)) {
    taken_ = log_ ? log_->last() : 0;
    has_room_ = finds_room();
    thread_ = std::thread([this] { run(); });
  }

  ~Writer() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
    if (log_ && taken_ == log_->last()) log_->remove();
  }

  void push(Job job) {
    {
      const std::lock_guard lock(mutex_);
      ++awaited_;
      if (std::holds_alternative<Write>(job)) ++unlogged_;
      queue_.push_back(std::move(job));
    }
    wake_.notify_one();
  }

  // Acknowledges it without waiting for the tables, if that is enough for it and possible now: in
  // the order of calling, nothing may be lost that comes before it.
  bool try_log(Transaction& transaction) {
    if (!log_ || transaction.durability != Durability::boot) return false;
    for (const auto& change : transaction.changes) {
      if (!is_sure(change)) return false;
    }
    const std::string bytes = to_bytes(transaction.changes);
    bool is_pressing = false;
    {
      const std::lock_guard lock(mutex_);
      if (unlogged_ > 0 || is_behind_ || !has_room_) return false;
      const bool was_half_full = log_->is_half_full();
      // What cannot be logged waits for the tables, and is told what is wrong with those.
      if (!log_->append(bytes)) return false;
      is_pressing = queue_.empty() || (log_->is_half_full() && !was_half_full);
      queue_.push_back(Write{std::move(transaction), {}, true});
    }
    if (is_pressing) wake_.notify_one();
    return true;
  }

  void post(std::function<void()> work) { asio::post(executor_, std::move(work)); }
  const asio::any_io_executor& executor() const { return executor_; }

 private:
  void run() {
    pthread_setname_np(pthread_self(), "atoll-store");
    while (auto jobs = take()) work_off(*std::move(jobs));
  }

  // Waits for work, which is empty when it is only time to try again; nullopt when there is none
  // and the store closes. Idle time is used to empty the WAL.
  std::optional<std::vector<Job>> take() {
    std::unique_lock lock(mutex_);
    const auto has_news = [this] { return stopping_ || !queue_.empty(); };
    if (!backlog_.empty()) {
      const bool has_jobs = wake_.wait_for(lock, kUntilNextTry, has_news);
      if (!has_jobs) return std::vector<Job>();
    }
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
    if (awaited_ == 0) {
      wake_.wait_for(lock, kCompany,
                     [this] { return stopping_ || awaited_ > 0 || log_->is_half_full(); });
    }
    if (queue_.empty()) return std::nullopt;
    std::vector<Job> jobs;
    while (!queue_.empty() && jobs.size() < kLargestGroup) {
      if (!is_logged(queue_.front())) --awaited_;
      jobs.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    return jobs;
  }

  void work_off(std::vector<Job> jobs) {
    std::vector<Write> group;
    Result<> committed;
    for (auto& job : jobs) {
      if (auto* write = std::get_if<Write>(&job)) {
        group.push_back(std::move(*write));
        continue;
      }
      committed = commit_group(std::exchange(group, {}));
      std::get<Read>(job)(committed, *connection_);
    }
    if (!group.empty() || jobs.empty()) static_cast<void>(commit_group(std::move(group)));
  }

  // With everything before it that is acknowledged and could not be written yet. An error means
  // that such things are left.
  Result<> commit_group(std::vector<Write> newer) {
    std::vector<Write> group = std::exchange(backlog_, {});
    std::ranges::move(newer, std::back_inserter(group));
    if (group.empty()) return {};
    std::vector<Outcome> outcomes;
    size_t logged = 0;
    for (auto& write : group) {
      outcomes.push_back({std::move(write.on_done), Result<>()});
      if (write.is_logged) ++logged;
    }

    auto committed = apply_group(group, outcomes, logged);
    if (!committed) {
      if (connection_->in_transaction()) static_cast<void>(connection_->execute("ROLLBACK"));
      for (auto& outcome : outcomes) outcome.result = committed.error();
      for (auto& write : group) {
        if (write.is_logged) backlog_.push_back(std::move(write));
      }
    }
    written_since_checkpoint_ = true;
    if (logged < outcomes.size()) {
      asio::post(executor_, [outcomes = std::move(outcomes)]() mutable {
        for (auto& outcome : outcomes) {
          if (outcome.on_done) outcome.on_done(std::move(outcome.result));
        }
      });
    }
    note_committed(group.size() - logged, committed ? logged : 0);
    if (backlog_.empty()) return {};
    return committed;
  }

  void note_committed(size_t unlogged, size_t logged) {
    const bool has_room = finds_room();
    const std::lock_guard lock(mutex_);
    unlogged_ -= unlogged;
    taken_ += logged;
    is_behind_ = !backlog_.empty();
    has_room_ = has_room;
    if (log_ && taken_ == log_->last()) log_->begin_again();
  }

  // Whether the tables can be relied on to take what is acknowledged before they have it. Little
  // room is no promise; without it everybody waits for them.
  bool finds_room() const {
    struct statvfs room{};
    if (!log_ || ::statvfs(connection_->path().c_str(), &room) != 0) return false;
    return room.f_bavail * room.f_frsize >= least_free_;
  }

  // An error means that nothing of the group has happened; what only concerns one member is in its
  // outcome.
  Result<> apply_group(const std::vector<Write>& group, std::vector<Outcome>& outcomes,
                       size_t logged) {
    TRY_OK(set_durability(group));
    TRY_OK(run_statement("BEGIN IMMEDIATE"));
    for (size_t i = 0; i < group.size(); ++i) {
      if (group[i].is_logged) {
        TRY_OK(apply_one(group[i].transaction));
        continue;
      }
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
    if (logged > 0) TRY_OK(write_taken(*connection_, taken_ + logged));
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
  std::vector<Write> backlog_;  // logged, and the tables would not take it
  uint64_t taken_ = 0;          // the number of the last logged one that they have
  const uint64_t least_free_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> queue_;
  size_t awaited_ = 0;   // of the queue: those that somebody waits for
  size_t unlogged_ = 0;  // writes that are neither logged nor done
  bool is_behind_ = false;
  bool has_room_ = false;
  std::unique_ptr<BootLog> log_;  // null when it could not be made
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
                                                       std::string path, SqliteOptions options) {
  TRY(auto connection, Connection::open(std::move(path)));
  TRY_OK(prepare_schema(*connection, all_migrations()));
  TRY(const auto instance, connection->ask("SELECT value FROM meta WHERE name = 'instance_id'"));
  TRY(const auto taken, take_logged(*connection, instance));
  // On a full disk there is none, and everything waits for the tables.
  auto log = BootLog::create(log_path(connection->path()), instance, taken);
  auto writer = std::make_shared<Writer>(std::move(executor), std::move(connection),
                                         log ? *std::move(log) : nullptr, options.least_free_bytes);
  return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(writer)));
}

Task<Contents> SqliteStore::load() {
  const auto answer = std::make_shared<Answer<Contents>>(writer_->executor());
  writer_->push(
      Read([answer, writer = writer_.get()](const Result<>& complete, Connection& connection) {
        auto contents = std::make_shared<Result<Contents>>(
            complete ? read_contents(connection) : Result<Contents>(complete.error()));
        writer->post([answer, contents] { answer->give(std::move(*contents)); });
      }));
  CO_TRY_OK(co_await answer->ready.wait());
  co_return std::move(answer->result);
}

Task<std::optional<SandboxRow>> SqliteStore::find_sandbox(std::string id) {
  using Found = Result<std::optional<SandboxRow>>;
  const auto answer = std::make_shared<Answer<std::optional<SandboxRow>>>(writer_->executor());
  writer_->push(
      Read([answer, id, writer = writer_.get()](const Result<>& complete, Connection& connection) {
        auto row = std::make_shared<Found>(complete ? read_sandbox(connection, id)
                                                    : Found(complete.error()));
        writer->post([answer, row] { answer->give(std::move(*row)); });
      }));
  CO_TRY_OK(co_await answer->ready.wait());
  co_return std::move(answer->result);
}

Task<> SqliteStore::commit(Transaction transaction) {
  if (writer_->try_log(transaction)) co_return Result<>();
  const auto answer = std::make_shared<Answer<void>>(writer_->executor());
  writer_->push(Write{std::move(transaction),
                      [answer](Result<> result) { answer->give(std::move(result)); }});
  CO_TRY_OK(co_await answer->ready.wait());
  co_return std::move(answer->result);
}

void SqliteStore::enqueue(Transaction transaction, OnCommitted on_done) {
  if (!writer_->try_log(transaction)) {
    return writer_->push(Write{std::move(transaction), std::move(on_done)});
  }
  if (on_done) writer_->post([on_done = std::move(on_done)] { on_done(Result<>()); });
}

}  // namespace atl::store
