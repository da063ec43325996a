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

#include "base/ids.h"
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
    return download_entry(here.get(), plan.remote, entry, 0);
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

  Result<> download_directory(int directory, const std::string& local, const std::string& remote,
                              const RemoteEntry& self, size_t depth) {
    if (depth > kDeepest)
      return Error(Code::too_large, "directories nest too deeply: " + to_printable(remote));
    if (mkdirat(directory, local.c_str(), 0755) != 0 && errno != EEXIST) {
      return os_error("making", to_printable(local));
    }
    TRY(const auto here, os::open_at(directory, local, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    TRY(const auto entries, files_.list(remote));
    for (const RemoteEntry& entry : entries)
      TRY_OK(download_entry(here.get(), remote + "/" + entry.name, entry, depth + 1));
    if (depth > 0) fchmod(here.get(), self.mode | 0700);
    return {};
  }

  // To the entry's name in the directory `here`.
  Result<> download_entry(int here, const std::string& remote, const RemoteEntry& entry,
                          size_t depth) {
    switch (entry.kind) {
      case FileKind::directory:
        return download_directory(here, entry.name, remote, entry, depth);
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
