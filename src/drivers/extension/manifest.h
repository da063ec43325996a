// Manifest: what the maker of an extension says about it, in a YAML file that the operator reads
// and adds. docs/extensions.md has an example.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/extension/claim.h"
#include "json/value.h"

namespace atl::extension {

// Which versions of the protocol we speak.
constexpr int64_t kProtocol = 1;

struct Manifest {
  std::string name;     // the driver's: what --driver takes
  std::string version;  // of the extension, for people
  int64_t protocol = kProtocol;
  std::string summary;
  std::string socket;  // absolute; where it listens
  Claim capabilities;
  json::Value configuration;                // a schema, see settings.h
  std::optional<int64_t> create_timeout_s;  // absent = kUsualCreateTimeout
  std::optional<json::Value> command;       // refused: nobody starts it but the operator

  static constexpr auto kRequired =
      json::required("name", "version", "protocol", "summary", "capabilities");
};
BOOST_DESCRIBE_STRUCT(Manifest, (),
                      (name, version, protocol, summary, socket, capabilities, configuration,
                       create_timeout_s, command))

constexpr int64_t kUsualCreateTimeout = 60;
constexpr int64_t kLongestCreateTimeout = 3600;
constexpr size_t kLargestManifest = 256 * 1024;

// `taken` are the names that an extension cannot have: those of our own drivers.
Result<> check_manifest(const Manifest& manifest, const std::vector<std::string>& taken);

// Code::invalid_argument with file and line. `file_name` is for messages.
Result<Manifest> parse_manifest(std::string_view text, std::string_view file_name,
                                const std::vector<std::string>& taken);

// 1 to 32 of [a-z0-9-], a letter first and no dash last.
bool is_extension_name(std::string_view name);

}  // namespace atl::extension
