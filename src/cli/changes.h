// What a sandbox changed in its copies of host directories, wherever its engine is.
#pragma once

#include <string>

#include "cli/client.h"
#include "cli/program.h"
#include "json/value.h"

namespace atl::cli {

// Of a daemon's sandbox.
class RemoteChanges final : public ChangeSource {
 public:
  RemoteChanges(Client& client, std::string sandbox)
      : client_(client), sandbox_(std::move(sandbox)) {}

  // The answer of GET …/diff as it is.
  Result<std::string> fetch(const std::string& path);
  Result<Changes> list(const std::string& path) override;
  Result<> read(const std::string& path, int fd) override;

 private:
  Client& client_;
  std::string sandbox_;
};

Result<Changes> changes_from(const json::Value& answer);

// "A dir/file", "M …", "D …": a line each, with what a link points to.
std::string to_lines(const Changes& changes);
// "3 added, 1 modified, 2 deleted"; "nothing changed".
std::string to_summary(const Changes& changes);
// {"added":3,"modified":1,"deleted":2}
std::string to_counts(const Changes& changes);

}  // namespace atl::cli
