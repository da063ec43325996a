#include "cli/copy_paths.h"

#include <fmt/core.h>

#include <optional>

#include "base/text.h"
#include "cli/args.h"

namespace atl::cli {
namespace {

struct Remote {
  std::string sandbox;
  std::string path;
};

std::optional<Remote> find_remote(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const std::string_view sandbox = text.substr(0, colon);
  if (sandbox.find('/') != std::string_view::npos || sandbox == "." || sandbox == "..")
    return std::nullopt;
  std::string path(text.substr(colon + 1));
  return Remote{std::string(sandbox), path.empty() ? "." : path};
}

}  // namespace

Result<CopyPlan> plan_copy(std::string_view source, std::string_view target) {
  const auto from = find_remote(source);
  const auto to = find_remote(target);
  if (from && to) {
    return usage_error("one of the two must be a path of this host")
        .with_hint("copy in two steps, or through a pipe: atoll cp A:x - | atoll cp - B:x");
  }
  if (!from && !to) {
    return usage_error("one of the two must be in a sandbox").with_hint("write it BOX:PATH");
  }
  using Direction = CopyPlan::Direction;
  if (from) return CopyPlan{Direction::download, from->sandbox, from->path, std::string(target)};
  return CopyPlan{Direction::upload, to->sandbox, to->path, std::string(source)};
}

std::string last_name(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  if (path == "." || path == "..") return "";
  return std::string(path);
}

std::string place_in(std::string_view target, std::string_view source, bool target_is_directory) {
  const bool into = target_is_directory || target.ends_with('/');
  const std::string name = last_name(source);
  if (!into || name.empty()) return std::string(target);
  return fmt::format("{}{}{}", target, target.ends_with('/') ? "" : "/", name);
}

}  // namespace atl::cli
