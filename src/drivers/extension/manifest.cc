#include "drivers/extension/manifest.h"

#include <algorithm>

#include "base/text.h"
#include "drivers/extension/settings.h"
#include "json/yaml.h"

namespace atl::extension {
namespace {

constexpr size_t kLongestName = 32;
constexpr size_t kLongestVersion = 64;
constexpr size_t kLongestSummary = 200;
constexpr size_t kLongestPath = 4095;

bool is_line(std::string_view text, size_t most) {
  const bool is_plain = std::ranges::none_of(text, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7f;
  });
  return !text.empty() && text.size() <= most && is_plain && is_utf8(text);
}

Error wrong(std::string_view field, std::string_view problem) {
  return Error(Code::invalid_argument, std::string(field) + ": " + std::string(problem));
}

}  // namespace

bool is_extension_name(std::string_view name) {
  if (name.empty() || name.size() > kLongestName || name.back() == '-') return false;
  if (name.front() < 'a' || name.front() > 'z') return false;
  return std::ranges::all_of(
      name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

Result<> check_manifest(const Manifest& manifest, const std::vector<std::string>& taken) {
  if (!is_extension_name(manifest.name))
    return wrong("name", "it is 1 to 32 lower-case letters, digits and dashes, a letter first");
  if (std::ranges::find(taken, manifest.name) != taken.end())
    return wrong("name", manifest.name + " is a driver of Atoll's own")
        .with_hint("call it otherwise: my-" + manifest.name);
  if (!is_line(manifest.version, kLongestVersion))
    return wrong("version", "it is one line of at most 64 bytes");
  if (!is_line(manifest.summary, kLongestSummary))
    return wrong("summary", "it is one line of at most 200 bytes");
  if (manifest.protocol != kProtocol) {
    return Error(Code::unsupported, "protocol: " + std::to_string(manifest.protocol) +
                                        " is not spoken here; this Atoll speaks " +
                                        std::to_string(kProtocol));
  }
  if (manifest.command) {
    return Error(Code::unsupported, "command: Atoll starts no extension")
        .with_hint(
            "start it yourself, as a systemd unit for example, and say `socket:` instead; see "
            "docs/extensions.md");
  }
  if (!is_line(manifest.socket, kLongestPath) || !manifest.socket.starts_with('/'))
    return wrong("socket", "it is the absolute path of the socket that the extension listens on");
  const int64_t patience = manifest.create_timeout_s.value_or(kUsualCreateTimeout);
  if (patience < 1 || patience > kLongestCreateTimeout)
    return wrong("create_timeout_s", "it is between 1 and 3600 seconds");
  if (!manifest.capabilities.placement)
    return wrong("capabilities.placement", "missing: host, own or third_party");
  TRY_OK(check_claim(manifest.capabilities));
  return check_schema(manifest.configuration);
}

Result<Manifest> parse_manifest(std::string_view text, std::string_view file_name,
                                const std::vector<std::string>& taken) {
  TRY(const auto document, json::parse_yaml(text, file_name, {.max_bytes = kLargestManifest}));
  TRY(auto manifest, json::decode_document<Manifest>(document));
  auto checked = check_manifest(manifest, taken);
  if (!checked) {
    const std::string& problem = checked.error().message();
    return document.locate(problem.substr(0, problem.find(':')), std::move(checked).error());
  }
  return manifest;
}

}  // namespace atl::extension
