// How far the image is of a sandbox that a daemon makes for us, on a line of the terminal that goes
// when it is there.
//
// Another connection follows the daemon's events meanwhile, from a thread of its own. Of several
// sandboxes that are made at once, the first that tells of itself is shown.
#pragma once

#include <memory>
#include <string>

#include "cli/client.h"
#include "json/value.h"

namespace atl::cli {

class MakingLine final {
 public:
  // Nothing is drawn, and nobody asked, without a terminal on stderr, with --json and with --quiet.
  // `name` is of the sandbox, "" = it has none.
  MakingLine(const Context& context, std::string name);
  ~MakingLine();  // as end()
  MakingLine(const MakingLine&) = delete;
  MakingLine& operator=(const MakingLine&) = delete;

  // It is made, or will not be: the line is gone when this returns.
  void end();

 private:
  class Follower;

  std::unique_ptr<Follower> follower_;  // null when nothing is drawn
};

// "fetching the image [===>  ] 40% 12 MB of 30 MB, 6 MB/s"
std::string making_text(std::string_view stage, uint64_t done, uint64_t total, double seconds);

}  // namespace atl::cli
