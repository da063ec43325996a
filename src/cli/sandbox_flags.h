// The flags that describe a sandbox, which `run` and `create` share.
#pragma once

#include <span>
#include <string_view>

#include "cli/args.h"
#include "cli/here.h"

namespace atl::cli {

extern const std::span<const Flag> kSandboxFlags;
// The limits that can be changed while a sandbox runs.
extern const std::span<const Flag> kResizeFlags;

struct SandboxAsked {
  WireCreate request;
  // The current directory as the workspace. How it appears depends on what drivers can do: see
  // here.h.
  std::optional<Here> here;
};

Result<SandboxAsked> sandbox_from(const Args& args);
Result<Resources> resources_from(const Args& args);

// Of --label.
Result<std::map<std::string, std::string>> labels_from(const Args& args);

// "SRC[:DST][:ro|rw|cow]", SRC relative to the current directory.
Result<WireHostDir> parse_volume(std::string_view text);
// "256m" → 256, rounded up; a number alone counts MiB.
Result<int64_t> parse_mib(std::string_view flag, std::string_view text);
// "2h" → 7200; fractions of a second are rounded up.
Result<int64_t> parse_seconds(std::string_view flag, std::string_view text);

}  // namespace atl::cli
