// `atoll cp`: files and directories between this host and a sandbox.
//
// Nothing here follows a link: what a guest has put into its sandbox never decides where a copy of
// it lands.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "base/text.h"
#include "cli/client.h"
#include "cli/copy_paths.h"
#include "cli/format.h"
#include "cli/output_pipe.h"
#include "cli/remote_files.h"
#include "cli/report.h"
#include "cli/verbs.h"
#include "os/file.h"

namespace atl::cli {
namespace {

constexpr size_t kDeepest = 64;

// One line that is written over itself, on a terminal, for copies that take a while.
class Progress final {
 public:
  explicit Progress(const Context& context)
      : shown_(isatty(STDERR_FILENO) == 1 && !context.quiet() && !context.json()) {}
  ~Progress() {
    if (drawn_) static_cast<void>(os::write_all(STDERR_FILENO, "\r\033[K"));
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add_bytes(uint64_t count) {
    bytes_ += count;
    draw();
  }
  void add_file() { ++files_; }

  uint64_t files() const { return files_; }
  uint64_t bytes() const { return bytes_; }

 private:
  void draw() {
    const auto now = std::chrono::steady_clock::now();
    if (!shown_ || now < next_) return;
    next_ = now + std::chrono::milliseconds(200);
    drawn_ = true;
    const auto line = fmt::format("\r\033[K{} files, {}", files_, format_bytes(bytes_));
    static_cast<void>(os::write_all(STDERR_FILENO, line));
  }

  bool shown_;
  bool drawn_ = false;
  uint64_t files_ = 0;
  uint64_t bytes_ = 0;
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
};

class Copier final {
 public:
  Copier(Context& context, RemoteFiles files)
      : context_(context), files_(std::move(files)), progress_(context) {}

  Result<> upload(const CopyPlan& plan) {
    TRY(const auto there, files_.find(plan.remote));
    const bool into = there && there->kind == FileKind::directory;
    if (plan.local == "-") {
      if (into) return usage_error("stdin needs the name of a file: BOX:" + plan.remote + "/NAME");
      return send(STDIN_FILENO, std::nullopt, plan.remote, 0644);
    }
    struct stat info{};
    if (stat(plan.local.c_str(), &info) != 0) return os_error("reading", to_printable(plan.local));
    const std::string remote = place_in(plan.remote, plan.local, into);
    TRY(const auto fd, os::open_at(AT_FDCWD, plan.local, O_RDONLY | O_NONBLOCK));
    if (S_ISDIR(info.st_mode)) return upload_directory(fd, remote, 0);
    return upload_file(fd, remote);
  }

  Result<> download(const CopyPlan& plan) {
    TRY(const auto there, files_.find(plan.remote));
    if (!there) return Error(Code::not_found, "the sandbox has no " + to_printable(plan.remote));
    if (plan.local == "-") {
      if (there->kind == FileKind::directory)
        return usage_error("a directory does not fit into a stream");
      return receive(plan.remote, STDOUT_FILENO);
    }
    struct stat info{};
    const bool into = stat(plan.local.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
    const std::string local = place_in(plan.local, plan.remote, into);
    if (there->kind == FileKind::directory)
      return download_directory(AT_FDCWD, local, plan.remote, *there, 0);
    return download_file(AT_FDCWD, local, plan.remote, there->mode);
  }

  const Progress& progress() const { return progress_; }

 private:
  OnBytes counter() {
    return [this](uint64_t count) { progress_.add_bytes(count); };
  }

  void pass_over(std::string_view what, const std::string& path) {
    if (!context_.quiet()) tell(fmt::format("atoll: left out {} {}", what, single_line(path)));
  }

  Result<> send(int fd, std::optional<uint64_t> size, const std::string& remote, uint32_t mode) {
    auto sent = files_.upload(fd, size, remote, mode, counter());
    if (!sent) return std::move(sent).error().with("writing " + to_printable(remote));
    progress_.add_file();
    return {};
  }

  Result<> receive(const std::string& remote, int fd) {
    auto received = files_.download(remote, fd, counter());
    if (!received && is_output_gone(received.error())) return received;
    if (!received) return std::move(received).error().with("reading " + to_printable(remote));
    progress_.add_file();
    return {};
  }

  Result<> upload_file(const Fd& fd, const std::string& remote) {
    struct stat info{};
    if (fstat(fd.get(), &info) != 0) return os_error("looking at", remote);
    // Files of /proc and devices do not know their size.
    const bool sized = S_ISREG(info.st_mode) && info.st_size > 0;
    if (!S_ISREG(info.st_mode)) fcntl(fd.get(), F_SETFL, 0);
    return send(fd.get(), sized ? std::optional(static_cast<uint64_t>(info.st_size)) : std::nullopt,
                remote, info.st_mode & 0777);
  }

  Result<> upload_directory(const Fd& directory, const std::string& remote, size_t depth) {
    if (depth > kDeepest)
      return Error(Code::too_large, "directories nest too deeply: " + to_printable(remote));
    TRY_OK(files_.make_directory(remote));
    TRY(const auto names, names_in(directory));
    for (const std::string& name : names) {
      std::string path = remote;
      path.append("/").append(name);
      struct stat info{};
      if (fstatat(directory.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) {
        pass_over(S_ISLNK(info.st_mode) ? "the link" : "the special file", name);
        continue;
      }
      TRY(const auto fd, os::open_at(directory.get(), name, O_RDONLY | O_NOFOLLOW));
      TRY_OK(S_ISDIR(info.st_mode) ? upload_directory(fd, path, depth + 1) : upload_file(fd, path));
    }
    return {};
  }

  static Result<std::vector<std::string>> names_in(const Fd& directory) {
    TRY(auto own, directory.duplicate());
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(own.get()), &closedir);
    if (stream == nullptr) return os_error("reading a directory");
    static_cast<void>(own.release());  // closedir closes it
    std::vector<std::string> names;
    while (const dirent* entry = readdir(stream.get())) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    return names;
  }

  Result<> download_file(int directory, const std::string& local, const std::string& remote,
                         uint32_t mode) {
    TRY(const auto fd,
        os::open_at(directory, local, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NOCTTY,
                    mode | 0600));
    TRY_OK(receive(remote, fd.get()));
    // Quota and full disks show only now on some file systems.
    if (fchmod(fd.get(), mode) != 0 && errno != EPERM)
      return os_error("setting the mode of", local);
    return {};
  }

  Result<> download_directory(int directory, const std::string& local, const std::string& remote,
                              const RemoteEntry& self, size_t depth) {
    if (depth > kDeepest)
      return Error(Code::too_large, "directories nest too deeply: " + to_printable(remote));
    if (mkdirat(directory, local.c_str(), 0755) != 0 && errno != EEXIST) {
      return os_error("making", to_printable(local));
    }
    // Only what the user has named may be a link.
    const int follow = depth == 0 ? 0 : O_NOFOLLOW;
    TRY(const auto here, os::open_at(directory, local, O_RDONLY | O_DIRECTORY | follow));
    TRY(const auto entries, files_.list(remote));
    for (const RemoteEntry& entry : entries)
      TRY_OK(download_entry(here.get(), remote, entry, depth));
    if (depth > 0) fchmod(here.get(), self.mode | 0700);
    return {};
  }

  Result<> download_entry(int here, const std::string& parent, const RemoteEntry& entry,
                          size_t depth) {
    const std::string remote = parent + "/" + entry.name;
    switch (entry.kind) {
      case FileKind::directory:
        return download_directory(here, entry.name, remote, entry, depth + 1);
      case FileKind::file:
        return download_file(here, entry.name, remote, entry.mode);
      case FileKind::symlink:
        if (symlinkat(entry.link_target.c_str(), here, entry.name.c_str()) != 0) {
          pass_over("the link", remote);
        }
        return {};
      case FileKind::other:
        pass_over("the special file", remote);
        return {};
    }
    return {};
  }

  Context& context_;
  RemoteFiles files_;
  Progress progress_;
};

Result<int> cp(Context& context) {
  const auto& words = context.args.words();
  TRY(const CopyPlan plan, plan_copy(words[0], words[1]));
  TRY(const auto client, Client::open(context));
  Copier copier(context, RemoteFiles(*client, plan.sandbox));
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
    .summary = "Copy files and directories into a sandbox or out of it",
    .more =
        "Paths in the box are relative to its workspace. `-` is stdin or stdout. A directory goes "
        "with\n"
        "everything in it; into an existing directory it is copied as a new one below it.",
    .run = cp};

}  // namespace atl::cli
