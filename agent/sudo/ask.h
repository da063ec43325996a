// What `sudo` inside a sandbox asks of the agent, and what it is told.
//
// One packet with the question and four descriptors (stdin, stdout, stderr, the working directory),
// then a packet of one byte for each signal to pass on; one packet back when the command has ended
// or was refused. Whoever asks is the guest: every byte is checked, and nothing but the kernel says
// who it is.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace atl::sudo {

// An abstract name, so that nothing in the file system can stand in its way; each sandbox has a
// network namespace, and so a set of such names, of its own.
constexpr std::string_view kDoor("\0atoll-sudo", 11);
// As much as fits one packet on every kernel.
constexpr size_t kLargestAsk = 128 * 1024;
constexpr size_t kDescriptors = 4;

struct Ask {
  std::string user;  // whom to become; "" = root
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;  // what is kept of the caller's, and what was set
};
std::string encode(const Ask& ask);
Result<Ask> decode_ask(std::string_view bytes);

struct Answer {
  std::string refused;  // why nothing was run; "" = it was
  int exit_code = 0;
  int signal = 0;  // that ended it; 0 = none
};
std::string encode(const Answer& answer);
Result<Answer> decode_answer(std::string_view bytes);

}  // namespace atl::sudo
