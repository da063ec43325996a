// The messages between host and agent, as values with one encoding each.
//
// decode_* never trusts the other side: counts, enumerators and numbers are checked, and anything
// left over is an error.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace atl::guest {

constexpr size_t kMostArguments = 4096;
constexpr size_t kMostVariables = 4096;
constexpr size_t kMostListed = 10'000;
constexpr size_t kMostProcesses = 4096;
constexpr size_t kMostChanges = 10'000;

struct Hello {
  uint32_t version = 0;
};
std::string encode(const Hello& message);
Result<Hello> decode_hello(std::string_view body);

struct HelloOk {
  uint32_t version = 0;
  std::string agent_version;
};
std::string encode(const HelloOk& message);
Result<HelloOk> decode_hello_ok(std::string_view body);

// With `direct`, three descriptors (stdin, stdout, stderr) travel with the frame's first byte.
struct Exec {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::string cwd;
  std::string user;
  bool stdin_open = false;
  bool direct = false;
  bool warm = false;  // an interpreter that waits may serve it
  uint64_t timeout_ms = 0;
  uint64_t cpu_time_ms = 0;
  uint64_t output_limit = 0;
  uint64_t credit = 0;             // how many bytes of output may come before the host grants more
  uint16_t rows = 0, columns = 0;  // of its terminal; both zero = it has none
};
std::string encode(const Exec& message);
Result<Exec> decode_exec(std::string_view body);

// A file tool: the agent's own program, run like a command inside the sandbox, see agent/tools. It
// ends with whoever asked for it.
struct Tool {
  std::vector<std::string> argv;  // the tool's name and its options
  std::string path;               // where it looks; opened by the agent
  bool writes = false;            // takes its stdin, and changes what is there
  uint64_t timeout_ms = 0;
  uint64_t credit = 0;  // as in Exec
};
std::string encode(const Tool& message);
Result<Tool> decode_tool(std::string_view body);

struct Attach {
  uint64_t process = 0;
  uint64_t stdout_offset = 0;
  uint64_t stderr_offset = 0;
  uint64_t credit = 0;
};
std::string encode(const Attach& message);
Result<Attach> decode_attach(std::string_view body);

struct Started {
  uint64_t process = 0;
  uint32_t pid = 0;
};
std::string encode(const Started& message);
Result<Started> decode_started(std::string_view body);

struct OutputPiece {
  uint8_t stream = 1;
  uint64_t offset = 0;
  std::string_view bytes;
};
constexpr size_t kOutputPieceHeader = 9;
std::string encode_output_header(uint8_t stream, uint64_t offset);
Result<OutputPiece> decode_output(std::string_view body);

struct Gap {
  uint8_t stream = 1;
  uint64_t from = 0, to = 0;
};
std::string encode(const Gap& message);
Result<Gap> decode_gap(std::string_view body);

enum class ExitKind : uint8_t { exited, signaled, timeout, oom, killed, policy, infra };
enum class HitLimit : uint8_t { none, wall_time, cpu_time, output };

struct Exited {
  int32_t exit_code = 0;
  int32_t signal = 0;
  ExitKind kind = ExitKind::exited;
  HitLimit limit = HitLimit::none;
  uint64_t duration_us = 0;
  uint64_t cpu_user_us = 0, cpu_system_us = 0;
  uint64_t peak_memory_bytes = 0;
  uint64_t stdout_bytes = 0, stderr_bytes = 0;
  bool attested = true;
  bool warm = false;
  bool whole_group =
      false;  // usage counts everything that the command started, not only what was waited for
};
std::string encode(const Exited& message);
Result<Exited> decode_exited(std::string_view body);

struct StdinData {
  uint64_t process = 0;
  std::string_view bytes;
};
std::string encode(const StdinData& message);
Result<StdinData> decode_stdin(std::string_view body);

struct Signal {
  uint64_t process = 0;
  uint32_t number = 0;
};
std::string encode(const Signal& message);
Result<Signal> decode_signal(std::string_view body);

struct Resize {
  uint64_t process = 0;
  uint16_t rows = 0, columns = 0;
};
std::string encode(const Resize& message);
Result<Resize> decode_resize(std::string_view body);

struct Dial {
  uint16_t port = 0;    // of the sandbox's own loopback
  uint64_t credit = 0;  // as in Exec
};
std::string encode(const Dial& message);
Result<Dial> decode_dial(std::string_view body);

// What goes to the service that was dialled on `channel`.
struct TunnelData {
  uint32_t channel = 0;
  std::string_view bytes;  // none for tunnel_finish
};
std::string encode(const TunnelData& message);
Result<TunnelData> decode_tunnel_data(std::string_view body);

struct ProcessRow {
  uint64_t process = 0;
  uint32_t pid = 0;
  std::vector<std::string> argv;  // shortened when very long
  std::string cwd;
  int64_t started_at_ms = 0;
  bool running = true;
  bool terminal = false;
  Exited exit;
  uint64_t stdout_first = 0, stdout_end = 0;
  uint64_t stderr_first = 0, stderr_end = 0;
};
std::string encode(const std::vector<ProcessRow>& rows);
Result<std::vector<ProcessRow>> decode_processes(std::string_view body);

struct Stats {
  uint64_t processes = 0;
  uint64_t cpu_us = 0;
  uint64_t memory_bytes = 0;
  uint64_t age_us = 0;
  uint64_t braked = 0;  // commands that are slowed down, see agent/brake.h
};
std::string encode(const Stats& message);
Result<Stats> decode_stats(std::string_view body);

// The error codes are those of base/error.h.
std::string encode_error(const Error& error);
Result<Error> decode_error(std::string_view body);

struct HandOver {
  std::map<std::string, std::string> env;
  bool dies_with_connection = false;
};
std::string encode(const HandOver& message);
Result<HandOver> decode_hand_over(std::string_view body);

struct Renew {
  Micros expires_at{0};  // on Clock::boot(); zero = never
};
std::string encode(const Renew& message);
Result<Renew> decode_renew(std::string_view body);

struct Path {
  std::string path;
  uint32_t mode = 0;   // open_write
  bool deep = false;   // open_write, mkdir: make parents; remove: with all below
  uint64_t limit = 0;  // list
};
std::string encode(const Path& message);
Result<Path> decode_path(std::string_view body);

struct Move {
  std::string from, to;
};
std::string encode(const Move& message);
Result<Move> decode_move(std::string_view body);

enum class EntryKind : uint8_t { file, directory, symlink, other };

struct Entry {
  std::string name;
  std::string path;
  EntryKind kind = EntryKind::file;
  uint64_t size = 0;
  uint32_t mode = 0, uid = 0, gid = 0;
  int64_t modified_at_ms = 0;
  std::string link_target;
  uint64_t version = 0;  // another one whenever the file has changed
};
std::string encode(const std::vector<Entry>& entries);
Result<std::vector<Entry>> decode_entries(std::string_view body);

enum class ChangeKind : uint8_t { added, modified, deleted };

// What became of one file of a directory that the sandbox has a copy of. Of a deleted one, what the
// host has.
struct Change {
  ChangeKind change = ChangeKind::added;
  EntryKind kind = EntryKind::file;
  std::string path;
  uint64_t size = 0;
  uint32_t mode = 0;
  int64_t modified_at_ns = 0;
  std::string link_target;
};

struct Diff {
  std::string path;   // only what is there or below; "" = everything
  uint64_t skip = 0;  // how many the pages before had
};
std::string encode(const Diff& message);
Result<Diff> decode_diff(std::string_view body);

struct DiffPage {
  std::vector<Change> changes;
  bool more = false;
};
std::string encode(const DiffPage& message);
Result<DiffPage> decode_diff_page(std::string_view body);

struct OpenedFile {
  uint32_t handle = 0;
  uint64_t size = 0;
  uint64_t version = 0;  // as in Entry; of a file that is read
};
std::string encode(const OpenedFile& message);
Result<OpenedFile> decode_opened(std::string_view body);

// A write that survives its connection: what has come stays beside the file, under the name of the
// upload, until it is committed or removed.
struct ResumeWrite {
  Path file;
  std::string upload;   // lower-case letters and digits
  uint64_t offset = 0;  // what the host knows to be there; the rest is cut off
  bool look = false;    // only tell how much is there
};
std::string encode(const ResumeWrite& message);
Result<ResumeWrite> decode_resume_write(std::string_view body);

struct ReadFile {
  uint32_t handle = 0;
  uint64_t offset = 0;
  uint32_t most = 0;
};
std::string encode(const ReadFile& message);
Result<ReadFile> decode_read(std::string_view body);

struct WriteFile {
  uint32_t handle = 0;
  std::string_view bytes;
};
std::string encode(const WriteFile& message);
Result<WriteFile> decode_write(std::string_view body);

// For commit and close_file.
std::string encode_handle(uint32_t handle);
Result<uint32_t> decode_handle(std::string_view body);

}  // namespace atl::guest
