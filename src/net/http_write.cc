#include "net/http_write.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "net/http_parse.h"

namespace atl::net {

void append_number(std::string& out, uint64_t number) {
  const fmt::format_int text(number);
  out.append(text.data(), text.size());
}

void append_fields(std::string& out, const Headers& headers, bool (*reserved)(std::string_view)) {
  for (size_t i = 0; i < headers.size(); ++i) {
    const auto [name, value] = headers[i];
    if (name.empty() || reserved(name) || !std::all_of(name.begin(), name.end(), is_token_char)) {
      continue;
    }
    out += name;
    out += ": ";
    const size_t start = out.size();
    out += value;
    for (size_t at = start; at < out.size(); ++at) {
      const auto c = static_cast<unsigned char>(out[at]);
      if ((c < 0x20 && c != '\t') || c == 0x7f) out[at] = ' ';
    }
    out += "\r\n";
  }
}

void append_chunk_size(std::string& out, uint64_t size) {
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", size);
}

}  // namespace atl::net
