// Box: one sandbox for the length of a check, with the calls that checks make most, each failing
// the check by itself.
//
// What cannot go on throws CaseStopped, after the failure has been reported where the check stands;
// the runner of the case catches it, so that checks read as plain sequences.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "tests/support/driver_world.h"

namespace atl::conformance {

using Where = std::source_location;

struct CaseStopped {};

// Reports a failure at `where` and ends the case.
[[noreturn]] void stop_case(const std::string& why, const Where& where);

// The value, or the end of the case.
template <typename T>
T must(Result<T> result, const Where where = Where::current()) {
  if (!result) stop_case(result.error().message(), where);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// "permission_denied: …", or "done" for what should have failed and did not.
template <typename T>
std::string outcome(const Result<T>& result) {
  if (result) return "done";
  return std::string(to_string(result.error().code())) + ": " + result.error().message();
}

#define EXPECT_CODE(expected, ...)                                                        \
  do {                                                                                    \
    const auto expect_code = (__VA_ARGS__);                                               \
    EXPECT_TRUE(!expect_code && expect_code.error().code() == (expected))                 \
        << "expected " << ::atl::to_string(expected) << ", got " << outcome(expect_code); \
  } while (false)

// What a process said until its end, each stream checked for order: a piece that does not follow
// the one before, and is not explained by a gap, fails the check.
struct Told {
  std::string out, err;
  std::vector<OutputGap> gaps;
  ExitStatus status;
};

class Box final {
 public:
  explicit Box(test::DriverWorld& world, SandboxSpec spec = {}, Where where = Where::current());
  ~Box();
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;

  const std::string& id() const { return id_; }
  Sandbox& sandbox() { return *sandbox_; }
  Guest& guest() { return sandbox_->guest(); }
  test::DriverWorld& world() { return world_; }

  // The world's client is gone and another one takes the sandbox up.
  void reattach(Where where = Where::current());

  // Its place is a new one's, under the same id.
  void make_anew(SandboxSpec spec, Where where = Where::current());

  // Runs a command to its end, with all of its output.
  Result<ExecResult> try_exec(ExecRequest request, std::string stdin_bytes = {});
  ExecResult exec(std::vector<std::string> argv, Where where = Where::current());
  ExecResult sh(std::string script, Where where = Where::current());
  // Runs our probe, which is put into the workspace at first use; what it printed, without the last
  // newline.
  ExecResult probe(std::vector<std::string> arguments, Where where = Where::current());
  std::string ask_probe(std::vector<std::string> arguments, Where where = Where::current());
  void put_probe(Where where = Where::current());

  // Starts a command and leaves it running.
  std::unique_ptr<Process> start(ExecRequest request, Where where = Where::current());
  std::unique_ptr<Process> start_sh(std::string script, Where where = Where::current());
  Told read_to_end(Process& process, ResumeFrom from = {}, Where where = Where::current());
  ProcessInfo info_of(ProcessId process, Where where = Where::current());
  void wait_until_ended(ProcessId process, Where where = Where::current());

  void write(std::string path, std::string bytes, uint32_t mode = 0644,
             Where where = Where::current());
  Result<FileInfo> try_write(std::string path, std::string bytes, uint32_t mode = 0644,
                             Parents parents = Parents::must_exist);
  std::string read(std::string path, Where where = Where::current());
  Result<std::string> try_read(std::string path);
  bool exists(std::string path);
  // Until a command in the sandbox has made the file; gives its contents.
  std::string wait_for_file(std::string path, Where where = Where::current());

 private:
  test::DriverWorld& world_;
  std::string id_;
  std::unique_ptr<Sandbox> sandbox_;
  bool has_probe_ = false;
};

ExecRequest request_of(std::vector<std::string> argv);
ExecRequest sh_request(std::string script);
SandboxSpec spec_with(std::map<std::string, std::string> env);
std::string without_newline(std::string text);

}  // namespace atl::conformance
