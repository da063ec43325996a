// Our own stdout or stderr for bytes that stream: written in large pieces, never blocking the loop
// where that can be avoided, so that Ctrl-C works while nobody reads.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/fd.h"
#include "base/task.h"

namespace atl::cli {

class OutputPipe final {
 public:
  // A pipe or terminal is opened a second time, non-blocking; setting the flag on the descriptor
  // that we were given would set it for every process that shares it. What cannot be opened again
  // is written blocking.
  OutputPipe(asio::any_io_executor executor, int number);
  ~OutputPipe();

  // output_gone() when nobody reads any more.
  Task<> write(std::string_view bytes);  // awaited at once

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Tells when nobody reads our stdout any more, though there is nothing to write just now: whoever
// follows something that may be silent for hours need not wait for the next line. Only for pipes.
class ReaderWatch final {
 public:
  ReaderWatch(asio::any_io_executor executor, std::function<void()> on_gone);
  ~ReaderWatch();
  ReaderWatch(const ReaderWatch&) = delete;
  ReaderWatch& operator=(const ReaderWatch&) = delete;

  bool is_gone() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// For verbs that only show what comes and hold nothing: they end at once, with kExitOutputGone.
ReaderWatch leave_when_unread(asio::any_io_executor executor);

// Our own stdin for a loop: a pipe or terminal is opened a second time, for the same reason; what
// cannot be, is duplicated.
Result<Fd> open_stdin();

// Whoever read our output has left: no error to report, and exit code 141.
Error output_gone();
bool is_output_gone(const Error& error);

// For output that does not stream: everything, or output_gone().
Result<> print(std::string_view text);

}  // namespace atl::cli
