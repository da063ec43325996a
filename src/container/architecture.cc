#include "container/architecture.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace atl::container {
namespace {

// As images and as kernels call it, and the smaller one whose programs run here, too.
#if defined(__x86_64__)
constexpr std::string_view kOurs[] = {"amd64", "x86_64"};
constexpr std::string_view kSmaller = "386";
#else
constexpr std::string_view kOurs[] = {"arm64", "aarch64"};
constexpr std::string_view kSmaller = "arm";
#endif

// What emulators call by another name than images do.
constexpr std::pair<std::string_view, std::string_view> kEmulated[] = {
    {"amd64", "x86_64"}, {"arm64", "aarch64"}, {"386", "i386"}};

bool is_ours(std::string_view theirs) {
  // An image that does not say may be of any.
  return theirs.empty() || std::ranges::find(kOurs, theirs) != std::end(kOurs);
}

std::string emulator_of(std::string_view theirs) {
  for (const auto& [image, emulator] : kEmulated)
    if (theirs == image) theirs = emulator;
  return "qemu-" + std::string(theirs);
}

}  // namespace

Result<> check_agent_runs(const std::string& theirs, const std::string& whose) {
  if (is_ours(theirs)) return {};
  const std::string ours(kOurs[0]);
  return Error(Code::unsupported, to_printable(whose) + " is for " + to_printable(theirs) +
                                      ", and the agent that would be copied there for " + ours)
      .with_hint("take an image, or an engine, for " + ours +
                 ", or run atoll serve on that machine");
}

Result<> check_programs_run(const std::string& theirs, const std::string& image,
                            const std::string& emulators) {
  if (is_ours(theirs) || theirs == kSmaller) return {};
  const bool is_a_name = theirs.find('/') == std::string::npos;
  if (is_a_name && access((emulators + "/" + emulator_of(theirs)).c_str(), F_OK) == 0) return {};
  const std::string ours(kOurs[0]);
  return Error(Code::unsupported, "image " + to_printable(image) + " is for " +
                                      to_printable(theirs) + ", and this host runs " + ours)
      .with_hint("fetch the one for " + ours + " (pull --platform linux/" + ours +
                 "), or let the kernel run others: apt install qemu-user-static");
}

}  // namespace atl::container
