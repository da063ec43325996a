// How far a copy is that takes a while, on a line of the terminal that goes when it ends.
#pragma once

#include <chrono>
#include <cstdint>

#include "cli/status_line.h"

namespace atl::cli {

class Progress final {
 public:
  explicit Progress(const Context& context);

  // How many bytes there are in all, if that is known.
  void expect(uint64_t bytes) { expected_ = bytes; }
  void add_bytes(uint64_t count);
  void add_files(uint64_t count) { files_ += count; }

  uint64_t files() const { return files_; }
  uint64_t bytes() const { return bytes_; }

 private:
  using Clock = std::chrono::steady_clock;

  void draw();

  StatusLine line_;
  uint64_t files_ = 0;
  uint64_t bytes_ = 0;
  uint64_t expected_ = 0;
  Clock::time_point began_ = Clock::now();
  Clock::time_point next_;
};

// "[=====>    ] 52%", of something that is between 0 and 1.
std::string progress_bar(double part);

// "[=====>    ] 52% 1.0 GB of 2.0 GB, 180 MB/s"; without an expectation "3 files, 1.0 GB, …".
std::string progress_line(uint64_t files, uint64_t bytes, uint64_t expected, double seconds);

}  // namespace atl::cli
