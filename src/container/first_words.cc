#include "container/first_words.h"

#include <sys/resource.h>

#include <algorithm>

#include "base/bytes.h"

namespace atl::container {

FirstWords make_first_words(const SandboxSpec& spec, const ContainerSpec& made, bool ends_with_us) {
  FirstWords words;
  words.config.sandbox_id = spec.id;
  words.config.env = spec.env;
  if (!spec.home.empty()) words.config.env.try_emplace("HOME", spec.home);
  words.config.confinement = native::Confinement::box;
  words.config.dies_with_connection = ends_with_us || spec.is_run;
  words.config.expires_at = spec.expires_at;
  words.facts.boxed = true;
  words.facts.rootless = true;
  words.facts.has_own_root = true;
  // Its root is not of the launcher's making, and there are no files of /proc to write.
  words.facts.without.add(native::Layer::root);
  words.facts.rlimits = {{RLIMIT_CORE, 0}, {RLIMIT_NOFILE, native::kDefaultOpenFiles}};
  words.facts.memory_bytes = made.memory_bytes;
  return words;
}

Result<std::string> FirstWords::encoded(Micros clock_ahead) const {
  native::AgentConfig told = config;
  told.expires_at = on_clock(config.expires_at, clock_ahead);
  const std::string text = encode(told);
  if (text.size() > native::kLargestConfig)
    return Error(Code::too_large, "the sandbox's environment is larger than 512 KiB");
  ByteWriter words;
  words.text(text);
  words.text(token + encode(facts));
  return std::move(words).bytes();
}

Micros on_clock(Micros moment, Micros clock_ahead) {
  if (moment.count() == 0) return moment;
  // A clock that is behind may put it before its own beginning: it is over then.
  return std::max(moment + clock_ahead, Micros(1));
}

}  // namespace atl::container
