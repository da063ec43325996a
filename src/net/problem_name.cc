#include "net/problem_name.h"

#include <algorithm>

namespace atl::net {

std::string problem_type(std::string_view code) { return "urn:atoll:problem:" + std::string(code); }

std::string problem_title(std::string_view code) {
  std::string title(code);
  std::ranges::replace(title, '_', ' ');
  if (!title.empty() && title[0] >= 'a' && title[0] <= 'z') {
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
  }
  return title;
}

}  // namespace atl::net
