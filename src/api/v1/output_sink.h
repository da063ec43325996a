// Where the story of one process goes: one JSON answer at its end, or a stream of lines or frames
// while it runs.
//
// application/x-ndjson: a line each, {"type":"start"|"stdout"|"stderr"|"gap"|"exit"|"error", …}.
// application/vnd.atoll.stream: frames of 8 bytes {u8 kind, three zeros, u32 big-endian length} and
// `length` bytes; kinds are in net/output_frame.h. Anything else that a client accepts gets JSON.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/call.h"
#include "api/v1/exec_wire.h"
#include "net/output_frame.h"

namespace atl::api::v1 {

using net::FrameKind;

struct StartFacts {
  std::string sandbox;
  ProcessId process = 0;
  int pid = 0;
};

void append_start(ObjectWriter& object, const StartFacts& facts, const RequestIds& ids);
void append_gap(ObjectWriter& object, const OutputGap& gap);
void append_end(ObjectWriter& object, const StartFacts& facts, const ExitStatus& status,
                Truncated truncated, const std::optional<RunFacts>& run, const RequestIds& ids);

class OutputSink {
 public:
  virtual ~OutputSink() = default;

  // start, then output and gap as they come, then end or fail. Errors mean that the client is gone.
  virtual Task<> start(StartFacts facts) = 0;
  virtual Task<> output(Output output) = 0;
  virtual Task<> gap(OutputGap gap) = 0;
  virtual Task<> end(ExitStatus status, std::optional<RunFacts> facts) = 0;
  // Something broke after the start. Gives the error back where the answer can still become one.
  virtual Task<> fail(Error error) = 0;
};

enum class Reply : uint8_t { json, ndjson, frames };

// Whether the field names this type.
bool accepts(std::string_view accept, std::string_view type);

Reply find_reply(const net::Request& request);

// `call` outlives the sink.
std::unique_ptr<OutputSink> make_sink(Call& call, Reply reply, size_t keep);

}  // namespace atl::api::v1
