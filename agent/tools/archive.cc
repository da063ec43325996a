// Archives out of the sandbox and into it.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "agent/tools/tool.h"
#include "os/file.h"
#include "os/tar_pack.h"
#include "os/tar_unpack.h"

namespace atl::agent {
namespace {

// Whom a signal that ends us finds at work.
os::TarUnpacker* unpacking = nullptr;

extern "C" void leave_nothing(int number) {
  if (unpacking != nullptr) unpacking->abandon();
  _exit(128 + number);
}

guest::EntryKind kind_of(TarKind kind) {
  if (kind == TarKind::directory) return guest::EntryKind::directory;
  return kind == TarKind::symlink ? guest::EntryKind::symlink : guest::EntryKind::file;
}

Result<> read_archive(TarReader& reader) {
  std::string buffer(guest::kArchivePiece, '\0');
  for (;;) {
    const ssize_t got = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error("reading the archive");
    // To the end, padding included: whoever sends it must not find the door shut.
    if (got == 0) return reader.finish();
    TRY_OK(reader.put(std::string_view(buffer).substr(0, static_cast<size_t>(got))));
  }
}

}  // namespace

Result<guest::End> pack_files(const ToolOptions& options, ToolOutput& output) {
  const auto write = [&](std::string_view bytes) {
    return output.tell(guest::Archive{std::string(bytes)});
  };
  const std::string name = options.text("name");
  os::PackLimits limits;
  if (options.has("all_links")) limits.links = TarLinks::any;
  TRY(const auto packed,
      os::pack_tree(kToolStart, name.empty() ? "file" : name, limits, write, {}));
  return guest::End{packed.entries, packed.entries, packed.skipped, packed.bytes, false};
}

Result<guest::End> unpack_files(const ToolOptions& options, ToolOutput& output) {
  const bool tells_each = options.has("each");
  os::UnpackLimits limits;
  limits.entries = options.number("limit", limits.entries);
  limits.hard_links = true;
  os::TarUnpacker unpacker(kToolStart, limits, [&](const TarEntry& entry) -> Result<> {
    if (!tells_each) return {};
    return output.tell(guest::Unpacked{entry.path, kind_of(entry.kind), entry.size});
  });
  unpacking = &unpacker;
  std::signal(SIGTERM, leave_nothing);
  // Nothing is written through a link, wherever it leads.
  TarReader reader(unpacker, options.has("all_links") ? TarLinks::any : TarLinks::inside);
  auto done = read_archive(reader);
  std::signal(SIGTERM, SIG_IGN);
  unpacking = nullptr;
  if (!done) return std::move(done).error();
  return guest::End{unpacker.entries(), unpacker.entries(), 0, unpacker.total_bytes(), false};
}

}  // namespace atl::agent
