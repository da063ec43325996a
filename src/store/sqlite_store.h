// The store on one SQLite file: one writer thread that commits everything queued at once.
//
// Transactions wait in a queue; the writer takes all of it, applies each inside a savepoint of its
// own, commits once and tells everybody. A group in which anyone asked for Durability::disk is
// flushed to the disk (synchronous=FULL), others are not (NORMAL: the WAL reaches the page cache,
// which survives this process). After a failed write nothing of the group has happened, its members
// are told so, and the next group simply tries again.
//
// What asks for Durability::boot and cannot fail in the tables is acknowledged as soon as it is in
// the boot log (boot_log.h), in this file's place in the order: only while everything called before
// it is in the log or the tables, and the disk has room. The writer follows. If the tables will not
// take it, it stays in the log, is tried again and again, and until then reads and everything new
// are refused with the reason.
#pragma once

#include <memory>
#include <string>

#include "store/store.h"

namespace atl::store {

struct SqliteOptions {
  // With less, nothing is acknowledged before the tables have it.
  uint64_t least_free_bytes = 64 * 1024 * 1024;
};

class SqliteStore final : public Store {
 public:
  // Makes the file if there is none, waits up to 5 s for another process to let go of it, checks
  // and migrates it. A damaged file, one of a newer schema and one that is not ours are refused and
  // left as they are. What is in the boot log of a daemon that was killed goes into the tables
  // first. Completions arrive on `executor`. Blocks: for the start of the daemon.
  static Result<std::unique_ptr<SqliteStore>> open(asio::any_io_executor executor, std::string path,
                                                   SqliteOptions options = {});
  // Commits what is queued, then closes. Whoever still waits for an answer is not told.
  ~SqliteStore() override;

  Task<Contents> load() override;
  Task<std::optional<SandboxRow>> find_sandbox(std::string id) override;
  Task<> commit(Transaction transaction) override;
  void enqueue(Transaction transaction, OnCommitted on_done) override;

 private:
  class Writer;
  explicit SqliteStore(std::shared_ptr<Writer> writer);

  std::shared_ptr<Writer> writer_;
};

}  // namespace atl::store
