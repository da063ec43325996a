#include "driver/fake_guest.h"

#include <csignal>
#include <sstream>

#include <boost/asio/this_coro.hpp>

namespace atl {

// What runs, as far as anything runs here. Shared by the box and by every client that is attached.
struct FakeProcess {
  ProcessInfo info;
  std::string out;
  std::string err;
  bool reads_input = false;  // cat without files
  bool gone = false;         // the sandbox went away under it
  std::shared_ptr<Event> changed;

  void notify() {
    if (changed) std::exchange(changed, nullptr)->fire();
  }
  void finish(int exit_code, ExitReason reason, int signal = 0) {
    if (!info.running) return;
    info.running = false;
    info.status = {.exit_code = exit_code,
                   .signal = signal,
                   .reason = reason,
                   .duration = Micros(1),
                   .usage = {.stdout_bytes = out.size(), .stderr_bytes = err.size()}};
    info.stdout_end = out.size();
    info.stderr_end = err.size();
    notify();
  }
};

void FakeBox::end_processes() {
  running = false;
  paused = false;  // nothing is left that could stand still
  for (auto& [number, process] : processes) {
    process->gone = true;
    process->finish(125, ExitReason::infra);
  }
}

void FakeBox::forget_waiters() {
  for (auto& [number, process] : processes) process->changed = nullptr;
}

namespace {

Error gone_error(const FakeBox& box) {
  return Error(Code::unavailable, "sandbox " + box.id + " does not run");
}

std::string absolute(const std::string& path) {
  std::string whole = path.starts_with('/') ? path : "/workspace/" + path;
  while (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
  return whole;
}

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

Result<> check_path(const std::string& path) {
  if (path.empty()) return Error(Code::invalid_argument, "the path is empty");
  if (path.find('\0') != std::string::npos) {
    return Error(Code::invalid_argument, "the path has a NUL in it");
  }
  if (("/" + path + "/").find("/../") != std::string::npos) {
    return Error(Code::permission_denied, "the path leaves the sandbox");
  }
  return {};
}

FileInfo info_of(const std::string& path, const FakeFile& file) {
  return {.name = path.substr(path.rfind('/') + 1),
          .path = path,
          .kind = file.kind,
          .size = file.bytes.size(),
          .mode = file.mode,
          .uid = 1000,
          .gid = 1000};
}

class FakeClient final : public Process {
 public:
  FakeClient(std::shared_ptr<FakeProcess> process, ResumeFrom from, StdioMode stdio)
      : process_(std::move(process)),
        out_at_(from.stdout_offset),
        err_at_(from.stderr_offset),
        stdio_(stdio) {}
  ~FakeClient() override {
    if (stdio_ == StdioMode::direct) process_->finish(128 + SIGKILL, ExitReason::killed, SIGKILL);
  }

  ProcessId id() const override { return process_->info.id; }
  int pid() const override { return process_->info.pid; }

  Task<ProcessEvent> next() override {
    const auto process = process_;
    for (;;) {
      if (interrupted_) co_return Error(Code::cancelled, "nobody follows the process any more");
      if (out_at_ < process->out.size()) co_return take(Stream::out, process->out, out_at_);
      if (err_at_ < process->err.size()) co_return take(Stream::err, process->err, err_at_);
      if (process->gone) {
        co_return Error(Code::unavailable, "the sandbox went away under the process");
      }
      if (!process->info.running) {
        if (ended_) co_return Error(Code::invalid_argument, "the process has ended");
        ended_ = true;
        co_return ProcessEvent(process->info.status);
      }
      if (!process->changed) {
        const auto executor = co_await asio::this_coro::executor;
        process->changed = std::make_shared<Event>(executor);
      }
      const auto changed = process->changed;
      CO_TRY_OK(co_await changed->wait());
    }
  }

  void interrupt() override {
    interrupted_ = true;
    if (const auto changed = std::exchange(process_->changed, nullptr)) changed->fire();
  }

  Task<> write_stdin(std::string bytes) override {
    if (!process_->info.running) co_return Error(Code::conflict, "the process has ended");
    if (process_->reads_input) {
      process_->out += bytes;
      process_->notify();
    }
    co_return Result<>();
  }

  Task<> close_stdin() override {
    if (process_->reads_input) process_->finish(0, ExitReason::exited);
    co_return Result<>();
  }

 private:
  static ProcessEvent take(Stream stream, const std::string& from, uint64_t& at) {
    Output output{.stream = stream, .offset = at, .bytes = from.substr(at)};
    at = from.size();
    return output;
  }

  std::shared_ptr<FakeProcess> process_;
  bool interrupted_ = false;
  uint64_t out_at_;
  uint64_t err_at_;
  StdioMode stdio_;
  bool ended_ = false;
};

class FakeReader final : public FileReader {
 public:
  explicit FakeReader(std::string bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const override { return bytes_.size(); }
  Task<std::string> read(uint64_t offset, size_t most) override {
    if (offset >= bytes_.size()) co_return std::string();
    co_return bytes_.substr(offset, most);
  }

 private:
  std::string bytes_;
};

class FakeWriter final : public FileWriter {
 public:
  FakeWriter(std::shared_ptr<FakeBox> box, std::string path, uint32_t mode)
      : box_(std::move(box)), path_(std::move(path)) {
    file_.mode = mode;
  }
  Task<> write(std::string bytes) override {
    file_.bytes += bytes;
    co_return Result<>();
  }
  Task<FileInfo> commit() override {
    if (!box_->running) co_return gone_error(*box_);
    box_->files[path_] = file_;
    co_return info_of(path_, file_);
  }

 private:
  std::shared_ptr<FakeBox> box_;
  std::string path_;
  FakeFile file_;
};

class FakeGuest final : public Guest {
 public:
  explicit FakeGuest(std::shared_ptr<FakeBox> box) : box_(std::move(box)) {}

  Task<std::unique_ptr<Process>> start(ExecRequest request) override {
    CO_TRY_OK(check());
    if (request.argv.empty()) co_return Error(Code::invalid_argument, "argv is empty");
    auto process = std::make_shared<FakeProcess>();
    process->info.id = ++box_->last_process;
    process->info.pid = static_cast<int>(100 + process->info.id);
    process->info.argv = request.argv;
    process->info.cwd = request.cwd.empty() ? "/workspace" : request.cwd;
    process->info.terminal = request.terminal.has_value();
    box_->processes[process->info.id] = process;
    play(*process, request);
    co_return std::make_unique<FakeClient>(process, ResumeFrom{}, request.stdio);
  }

  Task<std::unique_ptr<Process>> attach(ProcessId process, ResumeFrom from) override {
    CO_TRY_OK(check());
    CO_TRY(auto found, get_process(process));
    co_return std::make_unique<FakeClient>(std::move(found), from, StdioMode::kept);
  }

  Task<std::vector<ProcessInfo>> processes() override {
    CO_TRY_OK(check());
    std::vector<ProcessInfo> infos;
    for (const auto& [number, process] : box_->processes) infos.push_back(process->info);
    co_return infos;
  }

  Task<> signal(ProcessId process, int signal_number) override {
    CO_TRY_OK(check());
    CO_TRY(auto found, get_process(process));
    found->finish(128 + signal_number, ExitReason::killed, signal_number);
    co_return Result<>();
  }

  Task<> resize(ProcessId process, TerminalSize) override {
    CO_TRY_OK(check());
    CO_TRY(auto found, get_process(process));
    if (!found->info.terminal) co_return Error(Code::conflict, "the process has no terminal");
    co_return Result<>();
  }

  Task<FileInfo> stat(std::string path) override {
    if (box_->silent) {
      ++box_->asked_in_vain;
      const auto executor = co_await asio::this_coro::executor;
      Event never(executor);
      CO_TRY_OK(co_await never.wait());
    }
    CO_TRY(auto file, get_file(path));
    co_return info_of(absolute(path), *file);
  }

  Task<std::vector<FileInfo>> list(std::string path, size_t most) override {
    CO_TRY(auto directory, get_file(path));
    if (directory->kind != FileKind::directory) {
      co_return Error(Code::invalid_argument, path + " is no directory");
    }
    std::vector<FileInfo> infos;
    const std::string whole = absolute(path);
    for (const auto& [name, file] : box_->files) {
      if (name != whole && parent_of(name) == whole) infos.push_back(info_of(name, file));
    }
    if (infos.size() > most) co_return Error(Code::too_large, path + " has too many entries");
    co_return infos;
  }

  Task<std::unique_ptr<FileReader>> open_read(std::string path) override {
    CO_TRY(auto file, get_file(path));
    if (file->kind != FileKind::file) {
      co_return Error(Code::invalid_argument, path + " is no file");
    }
    co_return std::make_unique<FakeReader>(file->bytes);
  }

  Task<std::unique_ptr<FileWriter>> open_write(std::string path, uint32_t mode,
                                               Parents parents) override {
    CO_TRY_OK(check_new(path, parents));
    const auto found = box_->files.find(absolute(path));
    if (found != box_->files.end() && found->second.kind == FileKind::directory) {
      co_return Error(Code::invalid_argument, path + " is a directory");
    }
    co_return std::make_unique<FakeWriter>(box_, absolute(path), mode);
  }

  Task<> mkdir(std::string path, Parents parents) override {
    CO_TRY_OK(check_new(path, parents));
    auto [at, made] = box_->files.try_emplace(absolute(path));
    if (made) at->second = {.kind = FileKind::directory, .mode = 0755};
    if (!made && (parents == Parents::must_exist || at->second.kind != FileKind::directory)) {
      co_return Error(Code::already_exists, path + " exists");
    }
    co_return Result<>();
  }

  Task<> move(std::string from, std::string to) override {
    CO_TRY([[maybe_unused]] auto file, get_file(from));
    CO_TRY_OK(check_new(to, Parents::must_exist));
    const std::string old_root = absolute(from);
    const std::string new_root = absolute(to);
    std::map<std::string, FakeFile> moved;
    for (auto& [path, entry] : box_->files) {
      const bool inside = path == old_root || path.starts_with(old_root + "/");
      moved[inside ? new_root + path.substr(old_root.size()) : path] = std::move(entry);
    }
    box_->files = std::move(moved);
    co_return Result<>();
  }

  Task<std::vector<FileChange>> changes(std::string path) override {
    if (box_->changes.empty()) co_return co_await Guest::changes(std::move(path));
    co_return box_->changes;
  }

  Task<> remove(std::string path, Recursive recursive) override {
    CO_TRY([[maybe_unused]] auto file, get_file(path));
    const std::string root = absolute(path);
    const auto inside = [&](const std::string& name) { return name.starts_with(root + "/"); };
    for (const auto& [name, entry] : box_->files) {
      if (inside(name) && recursive == Recursive::no) {
        co_return Error(Code::conflict, path + " is not empty");
      }
    }
    std::erase_if(box_->files,
                  [&](const auto& entry) { return entry.first == root || inside(entry.first); });
    co_return Result<>();
  }

 private:
  Result<> check() const {
    if (!box_->running || box_->paused) return gone_error(*box_);
    return {};
  }

  Result<std::shared_ptr<FakeProcess>> get_process(ProcessId process) const {
    const auto found = box_->processes.find(process);
    if (found != box_->processes.end()) return found->second;
    return Error(Code::not_found, "no process " + std::to_string(process));
  }

  Result<const FakeFile*> get_file(const std::string& path) const {
    TRY_OK(check());
    TRY_OK(check_path(path));
    const auto found = box_->files.find(absolute(path));
    if (found == box_->files.end()) return Error(Code::not_found, "no such file: " + path);
    return &found->second;
  }

  // That something may be made under the path: its parent is there, or is made.
  Result<> check_new(const std::string& path, Parents parents) {
    TRY_OK(check());
    TRY_OK(check_path(path));
    const std::string parent = parent_of(absolute(path));
    if (parent == "/") return {};
    if (const auto found = box_->files.find(parent); found != box_->files.end()) {
      if (found->second.kind == FileKind::directory) return {};
      return Error(Code::invalid_argument, "no directory: " + parent);
    }
    if (parents == Parents::must_exist) {
      return Error(Code::not_found, "no such directory: " + parent);
    }
    TRY_OK(check_new(parent, parents));
    box_->files[parent] = {.kind = FileKind::directory, .mode = 0755};
    return {};
  }

  void play(FakeProcess& process, const ExecRequest& request) {
    const auto& argv = request.argv;
    const std::string& command = argv[0];
    if (command == "true") return process.finish(0, ExitReason::exited);
    if (command == "false") return process.finish(1, ExitReason::exited);
    if (command == "exit") {
      return process.finish(argv.size() > 1 ? std::atoi(argv[1].c_str()) : 0, ExitReason::exited);
    }
    if (command == "echo") return echo(process, argv);
    if (command == "env") return print_env(process, request);
    if (command == "whoami") {
      process.out = (request.user.empty() ? "user" : request.user) + " in " +
                    (request.cwd.empty() ? "/workspace" : request.cwd) + "\n";
      return process.finish(argv.size() > 1 ? 1 : 0, ExitReason::exited);
    }
    if (command == "cat") return cat(process, request);
    if (command == "sleep") {
      if (request.timeout.count() > 0) {
        return process.finish(124, ExitReason::timeout, SIGKILL);
      }
      return;
    }
    if (command == "hang") return;
    if (command == "sh" && argv.size() > 2) return shell(process, request);
    if (box_->programs.contains(command)) return process.finish(0, ExitReason::exited);
    process.err = command + ": not found\n";
    process.finish(127, ExitReason::exited);
  }

  // `sh -c TEXT`: its words as a command. With `command -v` in it, the look for a program: NAME,
  // and whether its version is asked for.
  void shell(FakeProcess& process, const ExecRequest& request) {
    ExecRequest simple;
    simple.timeout = request.timeout;
    simple.user = request.user;
    simple.cwd = request.cwd;
    std::istringstream words(request.argv[2]);
    for (std::string word; words >> word;) simple.argv.push_back(word);
    if (simple.argv.empty()) return process.finish(0, ExitReason::exited);
    if (simple.argv[0] != "command" || request.argv.size() < 6) return play(process, simple);
    const auto found = box_->programs.find(request.argv[4]);
    if (found == box_->programs.end()) return process.finish(127, ExitReason::exited);
    if (!request.argv[5].empty()) process.out = found->second;
    process.finish(0, ExitReason::exited);
  }

  static void echo(FakeProcess& process, const std::vector<std::string>& argv) {
    for (size_t i = 1; i < argv.size(); ++i) process.out += (i > 1 ? " " : "") + argv[i];
    process.out += '\n';
    process.finish(0, ExitReason::exited);
  }

  void print_env(FakeProcess& process, const ExecRequest& request) {
    auto env = box_->spec.env;
    for (const auto& [name, value] : request.env) env[name] = value;
    for (const auto& [name, value] : env) {
      process.out.append(name).append("=").append(value).append("\n");
    }
    process.finish(0, ExitReason::exited);
  }

  void cat(FakeProcess& process, const ExecRequest& request) {
    if (request.argv.size() == 1) {
      process.reads_input = request.stdin_mode == StdinMode::open;
      if (!process.reads_input) process.finish(0, ExitReason::exited);
      return;
    }
    int exit_code = 0;
    for (size_t i = 1; i < request.argv.size(); ++i) {
      const auto found = box_->files.find(absolute(request.argv[i]));
      if (found == box_->files.end()) {
        process.err += "cat: " + request.argv[i] + ": no such file\n";
        exit_code = 1;
      } else {
        process.out += found->second.bytes;
      }
    }
    process.finish(exit_code, ExitReason::exited);
  }

  std::shared_ptr<FakeBox> box_;
};

}  // namespace

std::unique_ptr<Guest> make_fake_guest(std::shared_ptr<FakeBox> box) {
  return std::make_unique<FakeGuest>(std::move(box));
}

}  // namespace atl
