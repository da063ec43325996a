// Whatever an engine sends: pieces lie within it, are never larger than asked for, and however the
// bytes are cut, the same comes out.
#include <cstdlib>
#include <string>

#include "container/engine_frames.h"

namespace {

using atl::container::EngineFrames;

// What came on each stream, and whether it ended in an error.
std::string take_apart(std::string_view bytes, size_t step, size_t most) {
  EngineFrames frames;
  std::string streams[4];
  bool is_broken = false;
  while (!bytes.empty() && !is_broken) {
    std::string_view part = bytes.substr(0, step);
    bytes.remove_prefix(part.size());
    for (;;) {
      const auto piece = frames.next(part, most);
      is_broken = !piece;
      if (!piece || !*piece) break;
      if ((*piece)->bytes.empty() || (*piece)->bytes.size() > most) std::abort();
      streams[static_cast<size_t>((*piece)->stream)].append((*piece)->bytes);
    }
  }
  std::string all;
  for (const auto& stream : streams) all += std::to_string(stream.size()) + ":" + stream;
  return all + (is_broken ? "broken" : frames.is_whole() ? "whole" : "cut");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = take_apart(bytes, size + 1, size + 1);
  if (take_apart(bytes, 1, 1) != whole || take_apart(bytes, 7, 3) != whole) std::abort();
  return 0;
}
