// Files by name and kind.
#include <fnmatch.h>

#include "agent/tools/tool.h"
#include "os/tree_walk.h"

namespace atl::agent {
namespace {

guest::Entry entry_of(const os::WalkedFile& file) {
  guest::Entry entry;
  entry.path = file.path;
  entry.kind = entry_kind_of(file.info.st_mode);
  entry.size = static_cast<uint64_t>(file.info.st_size);
  entry.mode = file.info.st_mode & 07777;
  entry.uid = file.info.st_uid;
  entry.gid = file.info.st_gid;
  entry.modified_at_ms = file.info.st_mtim.tv_sec * 1000 + file.info.st_mtim.tv_nsec / 1'000'000;
  if (entry.kind == guest::EntryKind::symlink) entry.link_target = file.link_target();
  return entry;
}

}  // namespace

Result<guest::End> find_files(const ToolOptions& options, ToolOutput& output) {
  const std::string name = options.text("name");
  const std::string kind = options.text("kind");
  const uint64_t limit = options.number("limit", 1000);
  const uint64_t depth = options.number("depth", UINT64_MAX);
  guest::End end;
  const auto visit = [&](const os::WalkedFile& file) -> Result<os::WalkStep> {
    const auto step = file.depth >= depth ? os::WalkStep::leave_out : os::WalkStep::go_on;
    if (file.depth == 0 && entry_kind_of(file.info.st_mode) == guest::EntryKind::directory)
      return step;
    guest::Entry entry = entry_of(file);
    const bool is_kind = kind.empty() || kind == std::to_string(static_cast<unsigned>(entry.kind));
    if (!is_kind || (!name.empty() && fnmatch(name.c_str(), file.name.c_str(), 0) != 0))
      return step;
    if (end.told == limit) {
      end.more = true;
      return os::WalkStep::stop;
    }
    ++end.told;
    TRY_OK(output.tell(guest::Found{std::move(entry)}));
    return step;
  };
  TRY(const auto walked, os::walk_tree(kToolStart, {}, visit));
  end.seen = walked.seen;
  end.skipped = walked.skipped;
  end.more |= walked.is_cut;
  return end;
}

}  // namespace atl::agent
