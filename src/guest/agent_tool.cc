#include "guest/agent_tool.h"

#include <algorithm>

#include "base/text.h"
#include "guest/tool_records.h"

namespace atl::guest {
namespace {

constexpr size_t kMostComplaint = 1000;

Tool to_tool(const FindRequest& request) {
  Tool tool{.argv = {"find"}, .path = request.path};
  if (!request.name.empty()) tool.argv.push_back("name=" + request.name);
  if (request.kind)
    tool.argv.push_back("kind=" + std::to_string(static_cast<unsigned>(*request.kind)));
  if (request.depth) tool.argv.push_back("depth=" + std::to_string(*request.depth));
  tool.argv.push_back("limit=" + std::to_string(request.limit));
  tool.timeout_ms = static_cast<uint64_t>(request.timeout.count());
  return tool;
}

Tool to_tool(const GrepRequest& request) {
  Tool tool{.argv = {"grep", "pattern=" + request.pattern}, .path = request.path};
  if (request.fixed) tool.argv.emplace_back("fixed=1");
  if (request.ignore_case) tool.argv.emplace_back("ignore_case=1");
  if (!request.include.empty()) tool.argv.push_back("include=" + request.include);
  tool.argv.push_back("limit=" + std::to_string(request.limit));
  tool.timeout_ms = static_cast<uint64_t>(request.timeout.count());
  return tool;
}

Tool to_tool(const WatchRequest& request) {
  Tool tool{.argv = {"watch"}, .path = request.path};
  if (request.recursive) tool.argv.emplace_back("recursive=1");
  return tool;
}

Tool to_tool(const PackRequest& request) {
  Tool tool{.argv = {"pack"}, .path = request.path};
  if (request.all_links) tool.argv.emplace_back("all_links=1");
  std::string_view name = request.path;
  while (name.ends_with('/')) name.remove_suffix(1);
  name.remove_prefix(name.rfind('/') + 1);
  if (name != "." && name != ".." && !name.empty())
    tool.argv.push_back("name=" + std::string(name));
  tool.timeout_ms = static_cast<uint64_t>(request.timeout.count());
  return tool;
}

Tool to_tool(const UnpackRequest& request) {
  Tool tool{.argv = {"unpack"}, .path = request.path, .writes = true};
  if (request.entries) {
    tool.argv.push_back("limit=" + std::to_string(*request.entries));
    tool.argv.emplace_back("each=1");
  }
  if (request.all_links) tool.argv.emplace_back("all_links=1");
  return tool;
}

class AgentTool final : public FileTool {
 public:
  AgentTool(std::unique_ptr<Process> process, std::string path)
      : process_(std::move(process)), path_(std::move(path)) {}

  Task<ToolEvent> next() override {
    for (;;) {
      CO_TRY(auto record, records_.next());
      if (record) co_return to_event(std::move(*record));
      CO_TRY(auto event, co_await process_->next());
      if (auto* output = std::get_if<Output>(&event)) {
        if (output->stream == Stream::out) {
          records_.put(output->bytes);
        } else {
          complaint_.append(output->bytes, 0, kMostComplaint - complaint_.size());
        }
      } else if (const auto* status = std::get_if<ExitStatus>(&event)) {
        co_return why_it_ended(*status);
      } else {
        co_return Error(Code::unavailable, "a tool in the sandbox said more than was kept");
      }
    }
  }

  void interrupt() override { process_->interrupt(); }
  Task<> write(std::string bytes) override {
    co_return co_await process_->write_stdin(std::move(bytes));
  }
  Task<> finish() override { co_return co_await process_->close_stdin(); }

 private:
  std::string place(std::string_view below) const {
    if (path_.empty() || path_ == ".") return std::string(below.empty() ? "." : below);
    std::string whole = path_;
    if (!below.empty() && !whole.ends_with('/')) whole += '/';
    return whole.append(below);
  }

  Result<ToolEvent> to_event(Record record) const {
    if (auto* found = std::get_if<Found>(&record)) {
      FileInfo info;
      info.name = std::move(found->entry.name);
      info.path = place(found->entry.path);
      if (info.name.empty()) info.name = info.path.substr(info.path.rfind('/') + 1);
      info.kind = static_cast<FileKind>(found->entry.kind);
      info.size = found->entry.size;
      info.mode = found->entry.mode & 07777;
      info.uid = found->entry.uid;
      info.gid = found->entry.gid;
      constexpr int64_t kYear9999 = 253'402'300'799'000;
      info.modified_at =
          WallTime(Millis(std::clamp<int64_t>(found->entry.modified_at_ms, 0, kYear9999)));
      info.link_target = std::move(found->entry.link_target);
      return ToolEvent(std::move(info));
    }
    if (auto* match = std::get_if<Match>(&record)) {
      return ToolEvent(
          LineMatch{place(match->path), match->line, std::move(match->text), match->cut});
    }
    if (auto* watched = std::get_if<Watched>(&record)) {
      FileEvent event{static_cast<FileEventKind>(watched->kind),
                      static_cast<FileKind>(watched->file), place(watched->path), ""};
      if (watched->kind == WatchedKind::moved) event.from = place(watched->from);
      return ToolEvent(std::move(event));
    }
    if (auto* archive = std::get_if<Archive>(&record))
      return ToolEvent(ArchivePiece{std::move(archive->bytes)});
    if (auto* unpacked = std::get_if<Unpacked>(&record)) {
      return ToolEvent(UnpackedFile{place(unpacked->path), static_cast<FileKind>(unpacked->kind),
                                    unpacked->size});
    }
    if (std::holds_alternative<Ready>(record)) return ToolEvent(ToolReady{});
    if (auto* failed = std::get_if<Failed>(&record)) return std::move(failed->error);
    const auto& end = std::get<End>(record);
    return ToolEvent(ToolEnd{end.seen, end.told, end.skipped, end.bytes, end.more});
  }

  // Before it said so itself.
  Error why_it_ended(const ExitStatus& status) const {
    switch (status.reason) {
      case ExitReason::timeout:
        return Error(Code::deadline_exceeded, "the tool did not come to an end in time")
            .with_hint("look at fewer files, or give it more time: timeout_ms");
      case ExitReason::oom:
        return Error(Code::resource_exhausted, "the tool ran out of the sandbox's memory");
      case ExitReason::infra:
        return Error(Code::unavailable, "the sandbox went away");
      default:
        return Error(Code::unavailable, "a tool in the sandbox ended with " +
                                            std::to_string(status.exit_code) + ": " +
                                            to_printable(complaint_));
    }
  }

  std::unique_ptr<Process> process_;
  std::string path_;
  RecordReader records_;
  std::string complaint_;
};

static_assert(static_cast<int>(WatchedKind::overflow) == static_cast<int>(FileEventKind::overflow));
static_assert(static_cast<int>(EntryKind::other) == static_cast<int>(FileKind::other));

}  // namespace

Tool to_tool(const ToolRequest& request) {
  return std::visit([](const auto& one) { return to_tool(one); }, request);
}

std::unique_ptr<FileTool> make_agent_tool(std::unique_ptr<Process> process, std::string path) {
  return std::make_unique<AgentTool>(std::move(process), std::move(path));
}

}  // namespace atl::guest
