#include "native/cpuinfo.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "os/file.h"

namespace atl::native {
namespace {

constexpr uint32_t kMostFlagLists = 64;
constexpr size_t kLargestEntry = 16 * 1024;

std::string read_first_entry() {
  auto file = os::open_at(AT_FDCWD, "/proc/cpuinfo", O_RDONLY);
  std::string text;
  // The kernel makes the text as it is read, and a large host has much of it.
  while (file && text.find("\n\n") == std::string::npos && text.size() < kLargestEntry) {
    char piece[4096];
    const ssize_t got = read(file->get(), piece, sizeof piece);
    if (got <= 0) break;
    text.append(piece, static_cast<size_t>(got));
  }
  const size_t end = text.find("\n\n");
  return end == std::string::npos ? "" : text.substr(0, end + 1);
}

std::string_view name_of(std::string_view line) {
  const auto name = line.substr(0, line.find(':'));
  return name.substr(0, name.find_last_not_of(" \t") + 1);
}

template <size_t N>
bool is_one_of(std::string_view name, const char* const (&names)[N]) {
  return std::ranges::find(names, name) != std::end(names);
}

}  // namespace

const std::string& host_processor() {
  static const std::string entry = read_first_entry();
  return entry;
}

std::string cpuinfo_text(std::string_view entry, uint32_t processors) {
  constexpr const char* kNumbers[] = {"core id", "apicid", "initial apicid"};
  constexpr const char* kCounts[] = {"siblings", "cpu cores"};
  constexpr const char* kFlags[] = {"flags", "vmx flags", "bugs", "Features"};
  const uint32_t count = std::clamp<uint32_t>(processors, 1, kMostProcessors);
  const auto lines = split(entry, '\n');
  std::string text;
  for (uint32_t i = 0; i < count; ++i) {
    text += "processor\t: " + std::to_string(i) + "\n";
    for (const auto& line : lines) {
      const auto name = name_of(line);
      if (name.empty() || name == "processor") continue;
      if (is_one_of(name, kFlags) && i > 0 && count > kMostFlagLists) continue;
      std::string_view shown = line;
      std::string number;
      if (is_one_of(name, kNumbers)) number = std::to_string(i);
      if (is_one_of(name, kCounts)) number = std::to_string(count);
      if (name == "physical id") number = "0";
      if (!number.empty()) shown = shown.substr(0, shown.find(':') + 1);
      text.append(shown).append(number.empty() ? "" : " ").append(number).append("\n");
    }
    text += "\n";
  }
  return text;
}

}  // namespace atl::native
