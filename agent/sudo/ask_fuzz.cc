// What a guest sends to the door, and what would be answered: no bytes may do more than be refused.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "agent/sudo/ask.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // What is understood says the same when it is said again.
  if (const auto ask = atl::sudo::decode_ask(bytes)) {
    const auto again = atl::sudo::decode_ask(encode(*ask));
    if (!again || again->argv != ask->argv || again->env != ask->env) std::abort();
  }
  if (const auto answer = atl::sudo::decode_answer(bytes)) {
    const auto again = atl::sudo::decode_answer(encode(*answer));
    if (!again || again->refused != answer->refused) std::abort();
  }
  return 0;
}
