#include "agent/warm_interpreter.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/text.h"
#include "guest/plain_call.h"
#include "native/plan.h"
#include "os/file.h"

namespace atl::agent {
namespace {

constexpr const char* kPython = "/opt/atoll/warm/python3.py";
constexpr const char* kNode = "/opt/atoll/warm/node.js";

// Under this name the system's own would be run, and no other that somebody has put before it.
bool is_found_in_usr_bin(const std::string& name) {
  for (const auto& directory : split(native::kSearchPath, ':')) {
    std::string path = directory;
    path.append("/").append(name);
    if (access(path.c_str(), X_OK) == 0) return directory == "/usr/bin";
  }
  return false;
}

std::vector<std::string> command_for(const std::string& name) {
  if (name == "python3" && access(kPython, R_OK) == 0) return {"python3", kPython};
  if (name == "node" && access(kNode, R_OK) == 0) return {"node", "-r", kNode, kNode};
  return {};
}

constexpr int kRequestBytes = 1 << 20;

Result<> make_pipe(Fd& read_end, Fd& write_end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return os_error("making a pipe");
  read_end = Fd(ends[0]);
  write_end = Fd(ends[1]);
  return {};
}

}  // namespace

Result<WarmInterpreter> WarmInterpreter::start(const Jail& jail, ExecGroups& groups,
                                               const std::string& name, const std::string& mark) {
  guest::Exec exec;
  exec.argv = command_for(name);
  // Node 18 looks where it is started for a package.json, and remembers that there was none.
  exec.cwd = "/";
  if (exec.argv.empty() || !is_found_in_usr_bin(name) || !groups.available())
    return Error(Code::unsupported, "no interpreter to start ahead");
  WarmInterpreter warm;
  Fd request_end;
  TRY_OK(make_pipe(warm.streams_.out, warm.streams_.out_held));
  TRY_OK(make_pipe(warm.streams_.err, warm.streams_.err_held));
  TRY_OK(make_pipe(request_end, warm.request_));
  TRY(const auto null, os::open_at(AT_FDCWD, "/dev/null", O_RDONLY));
  // It says when it is ready. Nobody waits for that: a command that comes earlier is read later.
  TRY(const auto unheard, os::open_at(AT_FDCWD, "/dev/null", O_WRONLY));

  const SpawnPlace place{
      .mark = mark,
      .stdio = {null.get(), warm.streams_.out_held.get(), warm.streams_.err_held.get()},
      .more = {request_end.get(), unheard.get()}};
  TRY(auto spawned, spawn(jail, groups, place, exec));
  if (spawned.pid == 0 || !spawned.group)
    return Error(Code::unsupported, "the interpreter cannot be started");
  warm.pid_ = spawned.pid;
  warm.group_ = std::move(*spawned.group);
  // Nobody need look after it as long as it waits.
  groups.rest(warm.group_);
  return warm;
}

bool WarmInterpreter::fits(const Jail& jail, const ExecGroups& groups, const guest::Exec& request) {
  const auto& config = jail.config();
  // Where no group counts processor time, a limit on it must be there before the program is.
  if (request.cpu_time_ms > 0 && !groups.count_cpu()) return false;
  return request.warm && !request.direct && request.rows == 0 && !request.stdin_open &&
         request.user.empty() &&
         guest::plain_interpreter(request.argv, config.env, request.env) == config.warm;
}

Result<> WarmInterpreter::hand_over(const Jail& jail, const SpawnPlace& place,
                                    const guest::Exec& request) {
  TRY(const auto setting, find_setting(jail, place, request));
  TRY(std::string message, os::path_of(setting.directory));
  const auto add = [&](std::string_view text) { message.append(1, '\0').append(text); };
  add("22");
  add(std::to_string(request.argv.size()));
  for (const auto& argument : request.argv) add(argument);
  for (const auto& [name, value] : setting.environment) {
    add(name);
    message.append("=").append(value);
  }
  // All of it at once, or the loop would wait for a program of the guest's to read.
  if (message.size() > static_cast<size_t>(kRequestBytes))
    return Error(Code::too_large, "the command is longer than 1 MiB");
  fcntl(request_.get(), F_SETFL, O_NONBLOCK);
  if (message.size() > 65536) fcntl(request_.get(), F_SETPIPE_SZ, kRequestBytes);
  const ssize_t written = write(request_.get(), message.data(), message.size());
  if (written != static_cast<ssize_t>(message.size()))
    return os_error("telling the interpreter its command");
  request_.close();
  return {};
}

}  // namespace atl::agent
