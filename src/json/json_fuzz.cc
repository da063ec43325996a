// Arbitrary bytes as JSON and as YAML: never a crash, and what decodes once survives a round trip.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/text.h"
#include "json/json.h"
#include "json/sample.h"
#include "json/yaml.h"

namespace {

using namespace atl;

void check_round_trip(const json::sample::Spec& spec) {
  const std::string text = json::encode(spec);
  const auto again = json::decode<json::sample::Spec>(text, {.max_bytes = SIZE_MAX});
  ATOLL_CHECK(again.has_value());
  ATOLL_CHECK(json::encode(*again) == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);

  if (const auto spec = json::decode<json::sample::Spec>(text)) check_round_trip(*spec);
  if (const auto value = json::parse(text)) {
    const std::string once = json::encode(*value);
    const auto again = json::parse(once, {.max_bytes = SIZE_MAX});
    ATOLL_CHECK(again.has_value() && json::encode(*again) == once);
  }
  if (const auto spec = json::decode_yaml<json::sample::Spec>(text, "f.yaml")) {
    check_round_trip(*spec);
  } else {
    ATOLL_CHECK(is_utf8(spec.error().message()));
  }
  ATOLL_CHECK(json::parse(json::encode(std::string(text)), {.max_bytes = SIZE_MAX}).has_value());
  return 0;
}
