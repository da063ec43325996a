// The way into one running sandbox: processes and files. What a guest says is untrusted input.
//
// Lives on the core loop. Every call fails with Code::unavailable once the sandbox or its agent is
// gone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/task.h"
#include "driver/exec.h"
#include "driver/file_tools.h"

namespace atl {

enum class Stream : uint8_t { out = 1, err = 2 };

struct Output {
  Stream stream = Stream::out;
  uint64_t offset = 0;  // of the first byte, from the beginning of this stream
  std::string bytes;
};

// Bytes that nobody read in time and that the ring has dropped.
struct OutputGap {
  Stream stream = Stream::out;
  uint64_t from = 0, to = 0;
};

using ProcessEvent = std::variant<Output, OutputGap, ExitStatus>;

// A client's hold on one process. Dropping a kept one leaves the process running; dropping a direct
// one kills it.
class Process {
 public:
  virtual ~Process() = default;

  virtual ProcessId id() const = 0;
  virtual int pid() const = 0;
  // The next thing that happened; ExitStatus is the last, and asking further is an error. Output
  // that is not asked for slows the process down, never fills our memory.
  virtual Task<ProcessEvent> next() = 0;
  // Makes a next() that waits, and every later one, answer Code::cancelled: for a reader whose own
  // client has left.
  virtual void interrupt() = 0;
  // Waits while the process does not read.
  virtual Task<> write_stdin(std::string bytes) = 0;
  // On a terminal, types the end of file.
  virtual Task<> close_stdin() = 0;
};

// Where a client that was cut off goes on reading.
struct ResumeFrom {
  uint64_t stdout_offset = 0;
  uint64_t stderr_offset = 0;
};

enum class ChangeKind : uint8_t { added, modified, deleted };
BOOST_DESCRIBE_ENUM(ChangeKind, added, modified, deleted)

// What became of one file of a host directory that the sandbox has a copy of. A file that became
// something else is deleted and added. Of a deleted directory what was in it is not told.
struct FileChange {
  ChangeKind change = ChangeKind::added;
  FileKind kind = FileKind::file;
  std::string path;   // as the sandbox sees it
  uint64_t size = 0;  // of a file
  uint32_t mode = 0;
  std::chrono::nanoseconds modified_at{0};  // since 1970
  std::string link_target;
};

class FileReader {
 public:
  virtual ~FileReader() = default;
  virtual uint64_t size() const = 0;
  virtual uint64_t version() const { return 0; }  // as in FileInfo
  // Up to `most` bytes from `offset`; empty at the end.
  virtual Task<std::string> read(uint64_t offset, size_t most) = 0;
};

// Nothing is visible under the path before commit; dropping the writer leaves nothing behind.
class FileWriter {
 public:
  virtual ~FileWriter() = default;
  virtual Task<> write(std::string bytes) = 0;
  virtual Task<FileInfo> commit() = 0;
};

enum class Parents : uint8_t { must_exist, create };
enum class Recursive : uint8_t { no, yes };

// Where a write that was cut off goes on; see Guest::resume_write.
struct ResumableWrite {
  std::string path;
  uint32_t mode = 0644;
  Parents parents = Parents::create;
  std::string upload;   // its name: lower-case letters and digits, at most 64
  uint64_t offset = 0;  // what is there beyond this is cut off
};

// A connection to a port of the sandbox.
class Tunnel {
 public:
  virtual ~Tunnel() = default;
  // The next bytes of the service; empty when it says no more. What is not read slows it down.
  virtual Task<std::string> read() = 0;
  // Returns when the service has taken it.
  virtual Task<> write(std::string bytes) = 0;
  // No more comes from us; reading goes on.
  virtual Task<> finish() = 0;
  // Makes a read() that waits, and every later one, answer Code::cancelled.
  virtual void interrupt() = 0;
};

// Paths are relative to the workspace, or absolute in the sandbox; links are followed only while
// they stay inside.
class Guest {
 public:
  virtual ~Guest() = default;

  virtual Task<std::unique_ptr<Process>> start(ExecRequest request) = 0;
  virtual Task<std::unique_ptr<Process>> attach(ProcessId process, ResumeFrom from) = 0;
  virtual Task<std::vector<ProcessInfo>> processes() = 0;
  // To the process and everything below it.
  virtual Task<> signal(ProcessId process, int signal_number) = 0;
  // Of a process that was started with a terminal; Code::conflict for any other.
  virtual Task<> resize(ProcessId process, TerminalSize size) = 0;

  virtual Task<FileInfo> stat(std::string path) = 0;
  // Sorted by name; `most` bounds the answer, and more than that is Code::too_large.
  virtual Task<std::vector<FileInfo>> list(std::string path, size_t most) = 0;
  virtual Task<std::unique_ptr<FileReader>> open_read(std::string path) = 0;
  virtual Task<std::unique_ptr<FileWriter>> open_write(std::string path, uint32_t mode,
                                                       Parents parents) = 0;
  // What is written stays beside the file when the writer is dropped, and the next one of the same
  // upload goes on after it; Code::conflict if the offset lies beyond. Code::unsupported unless a
  // driver says otherwise, both.
  virtual Task<std::unique_ptr<FileWriter>> resume_write(ResumableWrite request);
  // How much of an upload is there.
  virtual Task<uint64_t> uploaded(std::string path, std::string upload);
  virtual Task<> mkdir(std::string path, Parents parents) = 0;
  virtual Task<> move(std::string from, std::string to) = 0;
  virtual Task<> remove(std::string path, Recursive recursive) = 0;

  // What was changed in host directories that are copied on write, at `path` and below ("" =
  // everywhere), sorted by path. Code::too_large beyond 10,000; Code::unsupported where nothing is
  // copied or the driver cannot tell, which is what this default says.
  virtual Task<std::vector<FileChange>> changes(std::string path);

  // Connects to a port on the sandbox's loopback, and to nothing else. Code::unavailable when
  // nothing listens; Code::unsupported where sandboxes have no network of their own, which is what
  // this default says.
  virtual Task<std::unique_ptr<Tunnel>> dial(uint16_t port);

  // Code::unsupported where nothing of ours is inside that could look, which is what this default
  // says.
  virtual Task<std::unique_ptr<FileTool>> start_tool(ToolRequest request);
};

enum class ExecStep : uint8_t { started, output };

// Starts, writes `stdin_bytes`, collects up to `keep` bytes of each stream and waits for the end.
// `on_step` is told of the start and of each piece of output.
Task<ExecResult> exec_collect(Guest& guest, ExecRequest request, std::string stdin_bytes,
                              size_t keep, std::function<void(ExecStep)> on_step = {});

}  // namespace atl
