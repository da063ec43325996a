// Arbitrary bytes as a configuration file: never a crash, places that are in the file, and what is
// read says the same after it was written in our own words.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "config/migrate.h"
#include "config/settings.h"

namespace {

using namespace atl;

std::optional<std::string> environment(std::string_view name) {
  if (name == "SET") return "value";
  if (name == "TOKEN") return "hidden-value";
  return std::nullopt;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto settings = config::read_settings(text, "f.yaml", environment);
  const bool was_fine = !config::has_errors(settings.findings);

  const std::vector<std::string> built{"native", "local"};
  config::check_settings(settings, built);
  for (const auto& finding : settings.findings) {
    ATOLL_CHECK(is_utf8(config::to_text(finding)));
    const bool shows = finding.message.find("hidden-value") != std::string::npos;
    ATOLL_CHECK(!shows || text.find("hidden-value") != std::string_view::npos);
    ATOLL_CHECK(finding.line <= static_cast<int>(1 + std::ranges::count(text, '\n')));
  }
  if (!was_fine) return 0;

  const std::string written = config::migrate(settings, text);
  const auto again = config::read_settings(written, "f.yaml", environment);
  ATOLL_CHECK(written.size() > config::kLargestFile || !config::has_errors(again.findings));
  if (config::has_errors(again.findings)) return 0;
  ATOLL_CHECK(again.all.size() == settings.all.size());
  for (const auto& setting : settings.all) {
    const auto* same = again.find(setting.path);
    ATOLL_CHECK(same != nullptr && same->value == setting.value);
  }
  return 0;
}
