// The file tools: this program, run once more by the agent as a command inside the sandbox.
//
// A tool has the rights, the limits and the user of any other command, so a tree that is made to
// hurt whoever reads it hurts only the sandbox that it lies in (docs/adr/0019). It begins with an
// open descriptor of the place that it was asked about, follows no link from there, and says what
// it finds as records (guest/tool_records.h).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "guest/tool_records.h"

namespace atl::agent {

// What the agent gives a tool beside stdin, stdout and stderr.
constexpr int kToolProgram = 3;
constexpr int kToolStart = 4;

// Options are "name=value".
class ToolOptions final {
 public:
  static Result<ToolOptions> parse(const std::vector<std::string>& words);

  std::string text(const std::string& name) const;
  uint64_t number(const std::string& name, uint64_t otherwise) const;
  bool has(const std::string& name) const { return values_.contains(name); }

 private:
  std::map<std::string, std::string> values_;
};

// Collects records and writes them to stdout; Code::cancelled when nobody reads.
class ToolOutput final {
 public:
  Result<> tell(const guest::Record& record);
  Result<> flush();

 private:
  std::string waiting_;
};

Result<guest::End> find_files(const ToolOptions& options, ToolOutput& output);
Result<guest::End> grep_files(const ToolOptions& options, ToolOutput& output);
Result<guest::End> watch_files(const ToolOptions& options, ToolOutput& output);
Result<guest::End> pack_files(const ToolOptions& options, ToolOutput& output);
Result<guest::End> unpack_files(const ToolOptions& options, ToolOutput& output);

// `words` are the tool's name and its options. Returns the exit code.
int run_tool(const std::vector<std::string>& words);

guest::EntryKind entry_kind_of(unsigned mode);

}  // namespace atl::agent
