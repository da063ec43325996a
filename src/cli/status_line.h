// One line at the bottom of a terminal that is written over as things go on, and leaves nothing.
//
// It is never wider than the terminal, and when that was made narrower meanwhile, what the
// terminal has wrapped of it goes too. Without a terminal on stderr nothing is drawn.
#pragma once

#include <string>
#include <string_view>

#include "cli/verb.h"

namespace atl::cli {

class StatusLine final {
 public:
  explicit StatusLine(const Context& context);
  ~StatusLine();  // takes it away, as a signal does that ends the program
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  bool is_shown() const { return shown_; }
  void draw(std::string_view text);
  // Makes room for other output; the next draw() brings it back.
  void clear();

 private:
  std::string over() const;

  bool shown_;
  size_t drawn_columns_ = 0;
};

}  // namespace atl::cli
