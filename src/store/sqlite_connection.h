// A thin owner of one SQLite connection and its prepared statements; errors as ours, with the path
// of the file.
//
// Used by one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace atl::store {

// One run of a prepared statement. Binds in order, then steps; resets itself at the end of its
// life.
class Statement final {
 public:
  Statement(sqlite3_stmt* statement, const std::string& path);
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  // The text must stay where it is until the statement is done.
  Statement& bind(std::string_view text);
  Statement& bind(int64_t number);

  // True while there is a row to read.
  Result<bool> step();
  // For statements without an answer.
  Result<> run();

  std::string text(int column) const;
  int64_t number(int column) const;

 private:
  sqlite3_stmt* statement_;
  const std::string* path_;
  int bound_ = 0;
};

class Connection final {
 public:
  // Opens or makes the file, readable by its owner alone, and takes it for this process: a second
  // Atoll on the same file is refused.
  static Result<std::unique_ptr<Connection>> open(std::string path);
  ~Connection();

  // One or several statements whose answers nobody wants.
  Result<> execute(const std::string& sql);
  // `sql` is a literal: the statement is prepared once and kept under it.
  Result<Statement> prepare(std::string_view sql);
  // The first column of the first row.
  Result<std::string> ask(const std::string& sql);

  // Whether a transaction is under way; some errors end one by themselves.
  bool in_transaction() const;
  const std::string& path() const { return path_; }

 private:
  Connection(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}

  std::string path_;
  sqlite3* handle_;
  std::unordered_map<std::string_view, sqlite3_stmt*> prepared_;
};

}  // namespace atl::store
