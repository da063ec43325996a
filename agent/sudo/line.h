// The command line of `sudo`: the options that scripts use, in the meaning that they expect.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/sudo/ask.h"

namespace atl::sudo {

struct Caller {
  std::string name;
  uint32_t uid = 0, gid = 0;
  std::map<std::string, std::string> env;
};

enum class Wish : uint8_t {
  run,
  nothing,  // done already: there are no passwords to ask for or to forget
  tell,     // `text` on stdout
};

struct Line {
  Wish wish = Wish::run;
  std::string text;
  Ask ask;
};

// `arguments` without the program's own name.
Result<Line> parse_line(const std::vector<std::string>& arguments, const Caller& caller);

}  // namespace atl::sudo
