#include "store/sqlite_connection.h"

#include <fcntl.h>
#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/fd.h"

namespace atl::store {
namespace {

bool is_lack_of_space(int primary, int system_errno) {
  return primary == SQLITE_FULL ||
         (primary == SQLITE_IOERR && (system_errno == ENOSPC || system_errno == EDQUOT));
}

Error to_error(sqlite3* handle, const std::string& path) {
  const int primary = sqlite3_errcode(handle) & 0xff;
  const int system_errno = sqlite3_system_errno(handle);
  std::string message = path + ": " + sqlite3_errmsg(handle);
  if (is_lack_of_space(primary, system_errno)) {
    return Error(Code::out_of_space, std::move(message), ENOSPC)
        .with_hint("free some space on the file system that holds " + path);
  }
  switch (primary) {
    case SQLITE_CONSTRAINT:
      return Error(Code::already_exists, std::move(message));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Error(Code::unavailable, path + " is in use by another process")
          .with_hint(
              "another Atoll runs on this state directory; stop it or use another directory");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Error(Code::internal, path + " is damaged: " + sqlite3_errmsg(handle))
          .with_hint("restore " + path +
                     " from a backup or move it away; Atoll never replaces it by itself");
    default:
      if (system_errno != 0) message += std::string(" (") + std::strerror(system_errno) + ")";
      return Error(Code::internal, std::move(message), system_errno);
  }
}

}  // namespace

Statement::Statement(sqlite3_stmt* statement, const std::string& path)
    : statement_(statement), path_(&path) {}

Statement::Statement(Statement&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)),
      path_(other.path_),
      bound_(other.bound_) {}

Statement::~Statement() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Statement& Statement::bind(std::string_view text) {
  // A null pointer would bind NULL, which an empty text is not.
  const char* data = text.data() == nullptr ? "" : text.data();
  const int bound =
      sqlite3_bind_text64(statement_, ++bound_, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  ATOLL_CHECK(bound == SQLITE_OK || bound == SQLITE_TOOBIG || bound == SQLITE_NOMEM);
  return *this;
}

Statement& Statement::bind(int64_t number) {
  const int bound = sqlite3_bind_int64(statement_, ++bound_, number);
  ATOLL_CHECK(bound == SQLITE_OK);
  return *this;
}

Result<bool> Statement::step() {
  const int stepped = sqlite3_step(statement_);
  if (stepped == SQLITE_ROW) return true;
  if (stepped == SQLITE_DONE) return false;
  return to_error(sqlite3_db_handle(statement_), *path_);
}

Result<> Statement::run() {
  TRY([[maybe_unused]] const bool row, step());
  return {};
}

std::string Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (data == nullptr) return {};
  return std::string(data, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

int64_t Statement::number(int column) const { return sqlite3_column_int64(statement_, column); }

Result<std::unique_ptr<Connection>> Connection::open(std::string path) {
  // SQLite would make the file with the umask's mode; hashes of keys are nobody else's business. An
  // existing file is not opened here: closing it again would drop the locks that this process holds
  // on it.
  const Fd made(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made && errno != EEXIST) return os_error("making the state store", path);

  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int opened = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  if (handle == nullptr) return Error(Code::internal, path + ": " + sqlite3_errstr(opened));
  std::unique_ptr<Connection> connection(new Connection(std::move(path), handle));
  if (opened != SQLITE_OK) return to_error(handle, connection->path_);
  return connection;
}

Connection::~Connection() {
  for (auto& [sql, statement] : prepared_) sqlite3_finalize(statement);
  sqlite3_close(handle_);
}

Result<> Connection::execute(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return to_error(handle_, path_);
  }
  return {};
}

Result<Statement> Connection::prepare(std::string_view sql) {
  auto& statement = prepared_[sql];
  if (statement == nullptr &&
      sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK) {
    return to_error(handle_, path_);
  }
  return Statement(statement, path_);
}

Result<std::string> Connection::ask(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    return to_error(handle_, path_);
  }
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> owner(statement, sqlite3_finalize);
  Statement asked(statement, path_);
  TRY(const bool row, asked.step());
  return row ? asked.text(0) : std::string();
}

bool Connection::in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }

}  // namespace atl::store
