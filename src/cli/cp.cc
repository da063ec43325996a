// `atoll cp`: files and directories between this host and a sandbox.
//
// Nothing here follows a link: what a guest has put into its sandbox never decides where a copy of
// it lands.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/run_task.h"
#include "base/tar.h"
#include "base/text.h"
#include "cli/archive_pipe.h"
#include "cli/client.h"
#include "cli/copy_paths.h"
#include "cli/format.h"
#include "cli/output_pipe.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/verbs.h"
#include "client/remote_files.h"
#include "os/file.h"
#include "os/tar_unpack.h"

namespace atl::cli {
namespace {

using client::EntryKind;
using client::RemoteEntry;

// From here on it is worth going on where a broken connection left off.
constexpr uint64_t kLarge = 8 << 20;

class Copier final {
 public:
  Copier(Context& context, Client& client, const std::string& sandbox)
      : context_(context),
        loop_(client.loop()),
        files_(client.connection(), sandbox),
        progress_(context) {}

  Result<> upload(const CopyPlan& plan) {
    TRY(const auto there, run_task(loop_, files_.find(plan.remote)));
    const bool into = there && there->kind == EntryKind::directory;
    if (plan.local == "-") {
      if (into) return usage_error("stdin needs the name of a file: BOX:" + plan.remote + "/NAME");
      return send(STDIN_FILENO, std::nullopt, plan.remote, 0644);
    }
    struct stat info{};
    if (stat(plan.local.c_str(), &info) != 0) return os_error("reading", to_printable(plan.local));
    const std::string remote = place_in(plan.remote, plan.local, into);
    TRY(const auto fd, os::open_at(AT_FDCWD, plan.local, O_RDONLY | O_NONBLOCK));
    if (S_ISDIR(info.st_mode)) return upload_directory(fd, remote);
    return upload_file(fd, remote);
  }

  Result<> download(const CopyPlan& plan) {
    TRY(const auto there, run_task(loop_, files_.find(plan.remote)));
    if (!there) return Error(Code::not_found, "the sandbox has no " + to_printable(plan.remote));
    if (plan.local == "-") {
      if (there->kind == EntryKind::directory)
        return usage_error("a directory does not fit into a stream");
      return receive(plan.remote, STDOUT_FILENO);
    }
    struct stat info{};
    // An earlier copy may have brought the link: whoever means to go through it says so.
    if (lstat(plan.local.c_str(), &info) == 0 && S_ISLNK(info.st_mode)) {
      return Error(Code::invalid_argument, to_printable(plan.local) + " is a link")
          .with_hint("name what it points to, or end it with / to go through it");
    }
    const bool into = stat(plan.local.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
    std::string local = place_in(plan.local, plan.remote, into);
    while (local.size() > 1 && local.ends_with('/')) local.pop_back();
    const std::string name = last_name(local);
    const std::string parent = name.empty() ? local : local.substr(0, local.size() - name.size());
    TRY(const auto here,
        os::open_at(AT_FDCWD, parent.empty() ? "." : parent, O_PATH | O_DIRECTORY));
    RemoteEntry entry = *there;
    entry.name = name.empty() ? "." : name;
    if (entry.kind == EntryKind::file) progress_.expect(entry.size);
    return download_entry(here.get(), plan.remote, entry);
  }

  const Progress& progress() const { return progress_; }

 private:
  client::Source counted(int fd) {
    return [this, from = client::source_from(fd)](char* into, size_t most) -> Result<size_t> {
      TRY(const size_t got, from(into, most));
      progress_.add_bytes(got);
      return got;
    };
  }

  client::Sink to_file(int fd) {
    return [this, fd](std::string_view bytes) -> Result<> {
      auto written = os::write_all(fd, bytes);
      if (!written && written.error().os_errno() == EPIPE) return output_gone();
      if (!written) return written;
      progress_.add_bytes(bytes.size());
      return {};
    };
  }

  void pass_over(std::string_view what, const std::string& path) {
    if (!context_.quiet()) tell(fmt::format("atoll: left out {} {}", what, single_line(path)));
  }

  Result<> send(int fd, std::optional<uint64_t> size, const std::string& remote, uint32_t mode) {
    auto sent = run_task(loop_, files_.upload(counted(fd), size, remote, mode));
    if (!sent) return std::move(sent).error().with("writing " + to_printable(remote));
    progress_.add_files(1);
    return {};
  }

  Result<> receive(const std::string& remote, int fd) {
    auto received = run_task(loop_, files_.download(remote, to_file(fd)));
    if (!received && is_output_gone(received.error())) return received;
    if (!received) return std::move(received).error().with("reading " + to_printable(remote));
    progress_.add_files(1);
    return {};
  }

  Result<> upload_file(const Fd& fd, const std::string& remote) {
    struct stat info{};
    if (fstat(fd.get(), &info) != 0) return os_error("looking at", remote);
    // Files of /proc and devices do not know their size.
    const bool sized = S_ISREG(info.st_mode) && info.st_size > 0;
    if (!S_ISREG(info.st_mode)) fcntl(fd.get(), F_SETFL, 0);
    const auto size = static_cast<uint64_t>(info.st_size);
    if (!sized) return send(fd.get(), std::nullopt, remote, info.st_mode & 0777);
    progress_.expect(size);
    if (size < kLarge) return send(fd.get(), size, remote, info.st_mode & 0777);
    const auto count = [this](uint64_t bytes) { progress_.add_bytes(bytes); };
    auto sent = run_task(loop_, files_.upload_in_parts(fd.get(), remote, info, count));
    if (!sent) return std::move(sent).error().with("writing " + to_printable(remote));
    progress_.add_files(1);
    return {};
  }

  // One archive, made while it is sent.
  Result<> upload_directory(const Fd& directory, const std::string& remote) {
    ArchivePipe pipe;
    TRY(auto fd, pipe.start(directory, [this](const std::string& path, std::string_view why) {
      pass_over(why, path);
    }));
    auto sent = run_task(loop_, files_.upload_archive(counted(fd.get()), remote));
    fd.close();  // whoever still writes to it finds nobody
    TRY(const auto packed, pipe.finish());
    if (!sent) return std::move(sent).error().with("writing " + to_printable(remote));
    progress_.add_files(packed.entries);
    return {};
  }

  // What is there stays as it is until all of the new one has come.
  Result<> download_file(int directory, const std::string& local, const std::string& remote,
                         uint32_t mode) {
    struct stat info{};
    const bool exists = fstatat(directory, local.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (exists && !S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode)) {
      TRY(const auto special, os::open_at(directory, local, O_WRONLY | O_NOFOLLOW | O_NOCTTY));
      return receive(remote, special.get());
    }
    const std::string temporary = ".atoll-" + random_name(16);
    TRY(const auto fd, os::open_at(directory, temporary,
                                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY, 0600));
    auto received = receive(remote, fd.get());
    if (received && fchmod(fd.get(), mode) != 0 && errno != EPERM)
      received = os_error("setting the mode of", to_printable(local));
    if (received && renameat(directory, temporary.c_str(), directory, local.c_str()) != 0)
      received = os_error("writing", to_printable(local));
    if (!received) unlinkat(directory, temporary.c_str(), 0);
    return received;
  }

  Result<> download_directory(int directory, const std::string& local, const std::string& remote) {
    if (mkdirat(directory, local.c_str(), 0755) != 0 && errno != EEXIST) {
      return os_error("making", to_printable(local));
    }
    TRY(const auto here, os::open_at(directory, local, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    os::TarUnpacker unpacker(here.get(), {}, [this](const TarEntry& entry) -> Result<> {
      if (entry.kind == TarKind::file) progress_.add_files(1);
      return {};
    });
    // Links come as what they are: nothing here ever goes through one.
    TarReader reader(unpacker, TarLinks::any);
    const auto put = [&](std::string_view bytes) -> Result<> {
      TRY_OK(reader.put(bytes));
      progress_.add_bytes(bytes.size());
      return {};
    };
    auto received = run_task(loop_, files_.download_archive(remote, client::Links::all, put));
    if (received) received = reader.finish();
    if (!received) return std::move(received).error().with("reading " + to_printable(remote));
    return {};
  }

  // To the entry's name in the directory `here`.
  Result<> download_entry(int here, const std::string& remote, const RemoteEntry& entry) {
    switch (entry.kind) {
      case EntryKind::directory:
        return download_directory(here, entry.name, remote);
      case EntryKind::file:
        return download_file(here, entry.name, remote, entry.mode);
      case EntryKind::symlink:
        if (symlinkat(entry.link_target.c_str(), here, entry.name.c_str()) != 0) {
          return os_error("making the link", to_printable(entry.name));
        }
        return {};
      case EntryKind::other:
        return Error(Code::invalid_argument,
                     to_printable(remote) + " is neither a file nor a directory")
            .with_hint("to read from a pipe or a device: atoll exec BOX -- cat " +
                       to_printable(remote));
    }
    return {};
  }

  Context& context_;
  asio::io_context& loop_;
  client::RemoteFiles files_;
  Progress progress_;
};

Result<int> cp(Context& context) {
  const auto& words = context.args.words();
  TRY(const CopyPlan plan, plan_copy(words[0], words[1]));
  TRY(const auto client, open_client(context));
  Copier copier(context, *client, plan.sandbox);
  const bool up = plan.direction == CopyPlan::Direction::upload;
  TRY_OK(up ? copier.upload(plan) : copier.download(plan));
  if (context.json() && plan.local != "-") {
    TRY_OK(print(fmt::format("{{\"ok\":true,\"files\":{},\"bytes\":{}}}\n",
                             copier.progress().files(), copier.progress().bytes())));
  }
  return 0;
}

}  // namespace

const Verb kCpVerb{
    .grammar = {.verb = "cp",
                .usage = "[FLAGS] PATH BOX:PATH | BOX:PATH PATH",
                .flags = {kEverywhereFlags},
                .least_words = 2,
                .most_words = 2},
    .group = kFilesGroup,
    .summary = "Copy files and directories into a sandbox or out of it",
    .more =
        "Paths in the box are relative to its workspace. `-` is stdin or stdout. A directory goes "
        "with\n"
        "everything in it; into an existing directory it is copied as a new one below it. A large "
        "file\n"
        "goes on where a broken connection left it; started again, a copy into a box does, too.",
    .run = cp};

}  // namespace atl::cli
