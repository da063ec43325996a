// Guest over an agent: what almost every driver returns. A driver only has to open a byte stream to
// its agent.
#pragma once

#include <functional>
#include <memory>

#include "driver/driver.h"
#include "guest/protocol.h"
#include "net/byte_stream.h"

namespace atl::guest {

class AgentConnection;

// A stream to the agent, new: at first use, and again after a connection was lost.
using OpenStream = std::function<Task<net::StreamPtr>()>;

// Which of the caller's descriptors a process can have as they are: a kernel of its own may read
// and write a file of the host from the start, wherever the caller is in it.
enum class Direct : uint8_t { any, without_position };

class AgentGuest final : public Guest {
 public:
  AgentGuest(asio::any_io_executor executor, OpenStream open, Direct direct = Direct::any);
  ~AgentGuest() override;

  Task<std::unique_ptr<Process>> start(ExecRequest request) override;
  Task<std::unique_ptr<Process>> attach(ProcessId process, ResumeFrom from) override;
  Task<std::vector<ProcessInfo>> processes() override;
  Task<> signal(ProcessId process, int signal_number) override;
  Task<> resize(ProcessId process, TerminalSize size) override;
  Task<FileInfo> stat(std::string path) override;
  Task<std::vector<FileInfo>> list(std::string path, size_t most) override;
  Task<std::unique_ptr<FileReader>> open_read(std::string path) override;
  Task<std::unique_ptr<FileWriter>> open_write(std::string path, uint32_t mode,
                                               Parents parents) override;
  Task<> mkdir(std::string path, Parents parents) override;
  Task<> move(std::string from, std::string to) override;
  Task<> remove(std::string path, Recursive recursive) override;
  Task<std::vector<FileChange>> changes(std::string path) override;
  Task<std::unique_ptr<Tunnel>> dial(uint16_t port) override;
  Task<std::unique_ptr<FileTool>> start_tool(ToolRequest request) override;
  Task<std::unique_ptr<FileWriter>> resume_write(ResumableWrite request) override;
  Task<uint64_t> uploaded(std::string path, std::string upload) override;

  // Beyond Guest, for drivers.
  Task<> end_processes();
  Task<SandboxStats> stats();
  // Makes a parked sandbox (native/parked_boxes.h) somebody's.
  Task<> hand_over(HandOver message);
  // For an agent without a launcher: when it ends by itself (Clock::boot(); zero = never).
  Task<> renew(Micros expires_at);
  // For an agent without a launcher: nobody is connected afterwards, and what was followed is cut
  // off. It is spoken to again as if the connection had been lost.
  Task<> rest();
  // An agent that went on from a memory that was kept is this sandbox's from now on. What it is
  // told is what an agent is told first, without the moment of its end.
  Task<> become(std::string words);
  // Its Clock::boot(), less ours.
  Task<Micros> clock_ahead();
  // Connects if need be: whether the agent answers.
  Task<> greet();
  // Ends the connection; handles that are still out fail.
  void close();

 private:
  Task<std::shared_ptr<AgentConnection>> connection();

  asio::any_io_executor executor_;
  OpenStream open_;
  const Direct direct_;
  std::shared_ptr<AgentConnection> connection_;
};

}  // namespace atl::guest
