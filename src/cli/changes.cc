#include "cli/changes.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/run_task.h"
#include "base/text.h"
#include "cli/format.h"
#include "cli/json_view.h"
#include "client/remote_files.h"
#include "json/describe.h"
#include "os/file.h"

namespace atl::cli {
namespace {

template <typename Number>
Result<Number> to_number(const std::string& text, int base) {
  Number number{};
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (trouble != std::errc() || end != text.data() + text.size()) {
    return Error(Code::internal, "the daemon tells '" + to_printable(text) + "' for a number");
  }
  return number;
}

auto count(const Changes& changes, ChangeKind kind) {
  return std::ranges::count(changes.changes, kind, &FileChange::change);
}

Result<FileChange> change_from(const json::Value& value) {
  FileChange change;
  const auto what = json::find_enum<ChangeKind>(text_at(value, "change"));
  if (!what) return Error(Code::internal, "the daemon tells an unknown kind of change");
  change.change = *what;
  change.kind = json::find_enum<FileKind>(text_at(value, "kind")).value_or(FileKind::other);
  TRY(change.path, bytes_at(value, "path"));
  TRY(change.link_target, bytes_at(value, "link_target"));
  change.size = static_cast<uint64_t>(number_at(value, "size"));
  TRY(change.mode, to_number<uint32_t>(text_at(value, "mode"), 8));
  TRY(const auto modified, to_number<int64_t>(text_at(value, "modified_ns"), 10));
  change.modified_at = std::chrono::nanoseconds(modified);
  return change;
}

}  // namespace

Result<Changes> changes_from(const json::Value& answer) {
  Changes changes;
  const auto created = find_time(text_at(answer, "created_at"));
  if (!created) return Error(Code::internal, "the daemon does not tell when the sandbox was made");
  changes.created_at = *created;
  for (const json::Value& value : list_at(answer, "copies")) {
    Changes::Copy copy;
    TRY(copy.path, bytes_at(value, "path"));
    TRY(copy.host_path, bytes_at(value, "host_path"));
    changes.copies.push_back(std::move(copy));
  }
  for (const json::Value& value : list_at(answer, "changes")) {
    TRY(auto change, change_from(value));
    changes.changes.push_back(std::move(change));
  }
  return changes;
}

Result<std::string> RemoteChanges::fetch(const std::string& path) {
  const std::string query = path.empty() ? "" : "?" + client::path_query(path);
  return client_.get(sandbox_path(sandbox_, "/diff" + query));
}

Result<Changes> RemoteChanges::list(const std::string& path) {
  TRY(const std::string text, fetch(path));
  TRY(const auto answer, parse_answer(text));
  return changes_from(answer);
}

Result<> RemoteChanges::read(const std::string& path, int fd) {
  client::RemoteFiles files(client_.connection(), sandbox_);
  const auto sink = [fd](std::string_view bytes) { return os::write_all(fd, bytes); };
  return run_task(client_.loop(), files.download(path, sink));
}

std::string to_lines(const Changes& changes) {
  std::string text;
  for (const FileChange& change : changes.changes) {
    const char letter = change.change == ChangeKind::added      ? 'A'
                        : change.change == ChangeKind::modified ? 'M'
                                                                : 'D';
    text += fmt::format("{} {}", letter, single_line(change.path));
    if (change.kind == FileKind::directory) text += "/";
    const bool gone = change.change == ChangeKind::deleted;
    if (change.kind == FileKind::symlink && !gone) {
      text += " -> " + single_line(change.link_target);
    }
    if (change.kind == FileKind::other) text += " (special file)";
    text += "\n";
  }
  return text;
}

std::string to_summary(const Changes& changes) {
  if (changes.changes.empty()) return "nothing changed";
  return fmt::format("{} added, {} modified, {} deleted", count(changes, ChangeKind::added),
                     count(changes, ChangeKind::modified), count(changes, ChangeKind::deleted));
}

std::string to_counts(const Changes& changes) {
  return fmt::format(R"({{"added":{},"modified":{},"deleted":{}}})",
                     count(changes, ChangeKind::added), count(changes, ChangeKind::modified),
                     count(changes, ChangeKind::deleted));
}

}  // namespace atl::cli
