#include "tests/conformance/box.h"

#include <fcntl.h>

#include "base/ids.h"
#include "os/file.h"
#include "tests/support/products.h"

namespace atl::conformance {
namespace {

constexpr size_t kKeep = 256 << 20;
constexpr size_t kLargestProbe = 16 << 20;
constexpr auto kLongestCheck = std::chrono::minutes(10);
constexpr const char* kProbe = "conformance_probe";

Task<Told> read_events(Process& process, ResumeFrom from) {
  Told told;
  uint64_t next[2] = {from.stdout_offset, from.stderr_offset};
  for (;;) {
    CO_TRY(auto event, co_await process.next());
    if (auto* status = std::get_if<ExitStatus>(&event)) {
      told.status = *status;
      co_return told;
    }
    if (auto* gap = std::get_if<OutputGap>(&event)) {
      uint64_t& at = next[gap->stream == Stream::err ? 1 : 0];
      if (gap->from != at || gap->to <= gap->from)
        co_return Error(Code::internal, "a gap out of order");
      at = gap->to;
      told.gaps.push_back(*gap);
      continue;
    }
    auto& output = std::get<Output>(event);
    uint64_t& at = next[output.stream == Stream::err ? 1 : 0];
    if (output.offset != at) {
      co_return Error(Code::internal, "output at offset " + std::to_string(output.offset) +
                                          " where " + std::to_string(at) + " was due");
    }
    at += output.bytes.size();
    (output.stream == Stream::err ? told.err : told.out) += output.bytes;
  }
}

Task<FileInfo> write_file(Guest& guest, std::string path, std::string bytes, uint32_t mode,
                          Parents parents) {
  CO_TRY(auto writer, co_await guest.open_write(std::move(path), mode, parents));
  CO_TRY_OK(co_await writer->write(std::move(bytes)));
  co_return co_await writer->commit();
}

Task<std::string> read_file(Guest& guest, std::string path) {
  CO_TRY(auto reader, co_await guest.open_read(std::move(path)));
  std::string bytes;
  for (;;) {
    CO_TRY(auto piece, co_await reader->read(bytes.size(), 1 << 20));
    if (piece.empty()) co_return bytes;
    bytes += piece;
  }
}

}  // namespace

void stop_case(const std::string& why, const Where& where) {
  ADD_FAILURE_AT(where.file_name(), static_cast<int>(where.line())) << why;
  throw CaseStopped();
}

Box::Box(test::DriverWorld& world, SandboxSpec spec, Where where) : world_(world) {
  if (spec.id.empty()) spec.id = make_sandbox_id();
  // A suite that is killed cannot clean up; its sandboxes then do it themselves.
  if (spec.expires_at.count() == 0) spec.expires_at = system_clock().boot() + kLongestCheck;
  id_ = spec.id;
  sandbox_ = must(world_.run(world_.create(std::move(spec))), where);
}

Box::~Box() {
  auto destroyed =
      sandbox_ ? world_.run(sandbox_->destroy()) : world_.run(world_.driver().destroy_orphan(id_));
  if (!destroyed) ADD_FAILURE() << "destroying " << id_ << ": " << destroyed.error().message();
}

void Box::reattach(Where where) {
  sandbox_.reset();
  must(world_.restart(), where);
  sandbox_ = must(world_.run(world_.driver().attach(id_)), where);
}

void Box::make_anew(SandboxSpec spec, Where where) {
  spec.id = id_;
  if (spec.expires_at.count() == 0) spec.expires_at = system_clock().boot() + kLongestCheck;
  std::shared_ptr<Sandbox> old = std::move(sandbox_);
  sandbox_ = must(world_.run(atl::make_anew(world_.driver(), std::move(old), std::move(spec),
                                            [] { return Result<>(); })),
                  where);
  has_probe_ = false;
}

Result<ExecResult> Box::try_exec(ExecRequest request, std::string stdin_bytes) {
  return world_.run(exec_collect(guest(), std::move(request), std::move(stdin_bytes), kKeep));
}

ExecResult Box::exec(std::vector<std::string> argv, Where where) {
  return must(try_exec(request_of(std::move(argv))), where);
}

ExecResult Box::sh(std::string script, Where where) {
  return must(try_exec(sh_request(std::move(script))), where);
}

void Box::put_probe(Where where) {
  if (has_probe_) return;
  auto program =
      must(os::read_file(AT_FDCWD, test::own_directory() + "/" + kProbe, kLargestProbe), where);
  write(kProbe, std::move(program), 0755, where);
  has_probe_ = true;
}

ExecResult Box::probe(std::vector<std::string> arguments, Where where) {
  put_probe(where);
  arguments.insert(arguments.begin(), std::string("./") + kProbe);
  return exec(std::move(arguments), where);
}

std::string Box::ask_probe(std::vector<std::string> arguments, Where where) {
  return without_newline(probe(std::move(arguments), where).out);
}

std::unique_ptr<Process> Box::start(ExecRequest request, Where where) {
  return must(world_.run(guest().start(std::move(request))), where);
}

std::unique_ptr<Process> Box::start_sh(std::string script, Where where) {
  return start(sh_request(std::move(script)), where);
}

Told Box::read_to_end(Process& process, ResumeFrom from, Where where) {
  return must(world_.run(read_events(process, from)), where);
}

ProcessInfo Box::info_of(ProcessId process, Where where) {
  for (auto& info : must(world_.run(guest().processes()), where)) {
    if (info.id == process) return info;
  }
  stop_case("the process list does not show process " + std::to_string(process), where);
}

void Box::wait_until_ended(ProcessId process, Where where) {
  if (!world_.eventually([&] { return !info_of(process, where).running; }))
    stop_case("it still runs", where);
}

Result<FileInfo> Box::try_write(std::string path, std::string bytes, uint32_t mode,
                                Parents parents) {
  return world_.run(write_file(guest(), std::move(path), std::move(bytes), mode, parents));
}

void Box::write(std::string path, std::string bytes, uint32_t mode, Where where) {
  must(try_write(std::move(path), std::move(bytes), mode), where);
}

Result<std::string> Box::try_read(std::string path) {
  return world_.run(read_file(guest(), std::move(path)));
}

std::string Box::read(std::string path, Where where) {
  return must(try_read(std::move(path)), where);
}

bool Box::exists(std::string path) { return world_.run(guest().stat(std::move(path))).has_value(); }

std::string Box::wait_for_file(std::string path, Where where) {
  if (!world_.eventually([&] { return exists(path); }))
    stop_case("the file " + path + " does not appear", where);
  return without_newline(read(path, where));
}

ExecRequest request_of(std::vector<std::string> argv) {
  ExecRequest request;
  request.argv = std::move(argv);
  return request;
}

ExecRequest sh_request(std::string script) { return request_of({"sh", "-c", std::move(script)}); }

SandboxSpec spec_with(std::map<std::string, std::string> env) {
  SandboxSpec spec;
  spec.env = std::move(env);
  return spec;
}

std::string without_newline(std::string text) {
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace atl::conformance
