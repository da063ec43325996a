#include "net/http_parse.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace atl::net {
namespace {

constexpr size_t kMaxExtension = 256;
constexpr size_t kMaxTrailers = 8 * 1024;
constexpr size_t kMaxMethod = 32;

constexpr std::array<bool, 256> make_token_table() {
  std::array<bool, 256> table{};
  for (int c = '0'; c <= '9'; ++c) table[static_cast<size_t>(c)] = true;
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<size_t>(c)] = true;
  for (const char c : std::string_view("!#$%&'*+-.^_`|~")) table[static_cast<uint8_t>(c)] = true;
  return table;
}

// Visible characters, space, tab and bytes above ASCII.
constexpr std::array<bool, 256> make_value_table() {
  std::array<bool, 256> table{};
  for (size_t c = 0x20; c < 256; ++c) table[c] = c != 0x7f;
  table['\t'] = true;
  return table;
}

constexpr auto kToken = make_token_table();
constexpr auto kValue = make_value_table();

bool all_of(std::string_view text, const std::array<bool, 256>& table) {
  for (const char c : text) {
    if (!table[static_cast<unsigned char>(c)]) return false;
  }
  return true;
}

std::optional<uint64_t> parse_length(std::string_view text) {
  if (text.empty() || text.size() > 18) return std::nullopt;
  uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  return value;
}

// The fields that decide about framing and the connection's life.
struct Special {
  std::optional<uint64_t> length;
  size_t hosts = 0;
  bool chunked = false;
  bool close = false;
  bool keep_alive = false;
  bool expects_continue = false;
};

std::optional<Refusal> take_special(std::string_view name, std::string_view value, Special& out) {
  switch (name.size()) {
    case 4:
      if (equals_ignoring_case(name, "host")) ++out.hosts;
      break;
    case 6:
      if (equals_ignoring_case(name, "expect")) {
        if (!equals_ignoring_case(value, "100-continue")) {
          return Refusal{417, Code::invalid_argument, "the only expectation known is 100-continue"};
        }
        out.expects_continue = true;
      }
      break;
    case 10:
      if (equals_ignoring_case(name, "connection")) {
        out.close = out.close || has_token(value, "close");
        out.keep_alive = out.keep_alive || has_token(value, "keep-alive");
      }
      break;
    case 14:
      if (equals_ignoring_case(name, "content-length")) {
        if (out.length) return Refusal{.detail = "Content-Length is given twice"};
        out.length = parse_length(value);
        if (!out.length) return Refusal{.detail = "Content-Length is no number"};
      }
      break;
    case 17:
      if (equals_ignoring_case(name, "transfer-encoding")) {
        if (out.chunked) return Refusal{.detail = "Transfer-Encoding is given twice"};
        if (!equals_ignoring_case(value, "chunked")) {
          return Refusal{501, Code::unsupported, "the only transfer coding known is chunked"};
        }
        out.chunked = true;
      }
      break;
    default:
      break;
  }
  return std::nullopt;
}

// `rest` begins after the first line and ends with the empty line.
std::optional<Refusal> parse_fields(std::string_view rest, size_t most, Headers& headers,
                                    Special& special) {
  while (true) {
    const size_t end = rest.find("\r\n");
    if (end == std::string_view::npos) return Refusal{.detail = "a header line without an end"};
    if (end == 0) break;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 2);
    const size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    // A folded line begins with a space, which is no token either.
    if (colon == std::string_view::npos || name.empty() || !all_of(name, kToken)) {
      return Refusal{.detail = "a header line that is not \"name: value\""};
    }
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) {
      value.remove_prefix(1);
    }
    while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
    if (!all_of(value, kValue)) return Refusal{.detail = "a control character in a header"};
    if (headers.size() == most) return Refusal{431, Code::too_large, "too many header fields"};
    if (auto refused = take_special(name, value, special)) return refused;
    headers.add(name, value);
  }
  if (rest.size() != 2) return Refusal{.detail = "an empty line inside the head"};
  if (special.chunked && special.length) {
    return Refusal{.detail = "Content-Length and Transfer-Encoding together"};
  }
  return std::nullopt;
}

bool stays_open(const Special& special, int minor_version) {
  if (special.close) return false;
  return minor_version >= 1 || special.keep_alive;
}

}  // namespace

bool is_token_char(char c) { return kToken[static_cast<unsigned char>(c)]; }

size_t find_head_end(std::string_view bytes, size_t scanned) {
  const size_t from = scanned < 3 ? 0 : scanned - 3;
  if (bytes.size() < from + 4) return std::string_view::npos;
  const void* found = ::memmem(bytes.data() + from, bytes.size() - from, "\r\n\r\n", 4);
  if (found == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - bytes.data()) + 4;
}

std::optional<Refusal> parse_request_head(std::string_view head, const HeadLimits& limits,
                                          Request& request, HeadFacts& facts) {
  request.headers.clear();
  const size_t line_end = head.find("\r\n");
  const std::string_view line = head.substr(0, line_end);
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (line_end == std::string_view::npos || first == std::string_view::npos || first == last) {
    return Refusal{.detail = "the first line is not \"METHOD target HTTP/1.1\""};
  }
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (method.empty() || method.size() > kMaxMethod || !all_of(method, kToken)) {
    return Refusal{.detail = "the method is malformed"};
  }
  if (version.size() != 8 || !version.starts_with("HTTP/")) {
    return Refusal{.detail = "the first line is not \"METHOD target HTTP/1.1\""};
  }
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return Refusal{505, Code::unsupported, "HTTP/1.1 and HTTP/1.0 are spoken here"};
  }
  request.minor_version = version[7] - '0';
  if (target.size() > limits.target) {
    return Refusal{414, Code::too_large, "the target is too long"};
  }
  for (const char c : target) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f) {
      return Refusal{.detail = "a space or control character in the target"};
    }
  }
  request.method = parse_method(method);
  request.method_name.assign(method);
  if (request.method == Method::connect) {
    return Refusal{501, Code::unsupported, "CONNECT is not offered"};
  }
  if (auto parsed = request.set_target(target); !parsed) {
    return Refusal{.detail = "the target: " + parsed.error().message()};
  }

  Special special;
  if (auto refused =
          parse_fields(head.substr(line_end + 2), limits.count, request.headers, special)) {
    return refused;
  }
  if (special.hosts > 1 || (special.hosts == 0 && request.minor_version == 1)) {
    return Refusal{.detail = "exactly one Host is needed"};
  }
  if (special.chunked && request.minor_version == 0) {
    return Refusal{.detail = "HTTP/1.0 has no Transfer-Encoding"};
  }
  facts = HeadFacts{};
  facts.keep_alive = stays_open(special, request.minor_version);
  if (special.chunked) {
    facts.framing = Framing::chunked;
  } else if (special.length.value_or(0) > 0) {
    facts.framing = Framing::sized;
    facts.size = *special.length;
  }
  facts.expects_continue =
      special.expects_continue && facts.framing != Framing::none && request.minor_version == 1;
  return std::nullopt;
}

Result<> parse_response_head(std::string_view head, const HeadLimits& limits, Method asked,
                             int& status, Headers& headers, HeadFacts& facts) {
  headers.clear();
  const size_t line_end = head.find("\r\n");
  const std::string_view line = head.substr(0, line_end);
  const bool well_formed = line_end != std::string_view::npos && line.size() >= 12 &&
                           (line.starts_with("HTTP/1.1 ") || line.starts_with("HTTP/1.0 ")) &&
                           (line.size() == 12 || line[12] == ' ');
  const auto code = well_formed ? parse_length(line.substr(9, 3)) : std::nullopt;
  if (!code || *code < 100) return Error(Code::internal, "the answer is no HTTP/1.1");
  status = static_cast<int>(*code);
  const int minor_version = line[7] - '0';

  Special special;
  if (auto refused = parse_fields(head.substr(line_end + 2), limits.count, headers, special)) {
    return Error(refused->code == Code::too_large ? Code::too_large : Code::internal,
                 "the answer's head: " + refused->detail);
  }
  facts = HeadFacts{};
  facts.keep_alive = stays_open(special, minor_version);
  if (asked == Method::head || status < 200 || status == 204 || status == 304) {
    facts.framing = Framing::none;
  } else if (special.chunked) {
    facts.framing = Framing::chunked;
  } else if (special.length) {
    facts.framing = *special.length == 0 ? Framing::none : Framing::sized;
    facts.size = *special.length;
  } else {
    facts.framing = Framing::until_close;
    facts.keep_alive = false;
  }
  return {};
}

void BodyDecoder::start(Framing framing, uint64_t size) {
  framing_ = framing;
  left_ = size;
  overhead_ = 0;
  switch (framing) {
    case Framing::none:
      state_ = State::done;
      break;
    case Framing::sized:
      state_ = size == 0 ? State::done : State::data;
      break;
    case Framing::chunked:
      left_ = 0;
      state_ = State::size_first;
      break;
    case Framing::until_close:
      left_ = std::numeric_limits<uint64_t>::max();
      state_ = State::data;
      break;
  }
}

void BodyDecoder::took(uint64_t count) {
  if (framing_ == Framing::until_close) return;
  left_ -= count;
  if (left_ == 0) state_ = framing_ == Framing::chunked ? State::data_cr : State::done;
}

Result<BodyDecoder::Step> BodyDecoder::decode(std::string_view in, char* out, size_t room) {
  Step result;
  while (result.consumed < in.size() && state_ != State::done) {
    if (state_ != State::data) {
      TRY_OK(step(in[result.consumed]));
      ++result.consumed;
      continue;
    }
    const uint64_t there = std::min<uint64_t>(in.size() - result.consumed, left_);
    const auto count = static_cast<size_t>(std::min<uint64_t>(there, room - result.produced));
    if (count == 0) break;
    std::memcpy(out + result.produced, in.data() + result.consumed, count);
    result.consumed += count;
    result.produced += count;
    took(count);
  }
  return result;
}

Result<> BodyDecoder::end_of_stream() {
  if (state_ == State::done) return {};
  if (framing_ != Framing::until_close) {
    return Error(Code::unavailable, "the peer broke off in the middle of a body");
  }
  state_ = State::done;
  return {};
}

Result<> BodyDecoder::step(char c) {
  const auto bad = [] { return Error(Code::invalid_argument, "a malformed chunk"); };
  switch (state_) {
    case State::size_first:
    case State::size: {
      int digit = -1;
      if (c >= '0' && c <= '9') digit = c - '0';
      if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
      if (c >= 'A' && c <= 'F') digit = c - 'A' + 10;
      if (digit >= 0) {
        if (left_ >> 55 != 0) return bad();
        left_ = left_ * 16 + static_cast<uint64_t>(digit);
        state_ = State::size;
        // Leading zeros could go on for ever.
        if (++overhead_ > 16) return bad();
      } else if (state_ == State::size && c == '\r') {
        state_ = State::size_lf;
      } else if (state_ == State::size && (c == ';' || c == ' ' || c == '\t')) {
        overhead_ = 0;
        state_ = State::extension;
      } else {
        return bad();
      }
      return {};
    }
    case State::extension:
      if (c == '\r') {
        state_ = State::size_lf;
      } else if (++overhead_ > kMaxExtension || !kValue[static_cast<unsigned char>(c)]) {
        return bad();
      }
      return {};
    case State::size_lf:
      if (c != '\n') return bad();
      overhead_ = 0;
      state_ = left_ == 0 ? State::trailer_first : State::data;
      return {};
    case State::data_cr:
      if (c != '\r') return bad();
      state_ = State::data_lf;
      return {};
    case State::data_lf:
      if (c != '\n') return bad();
      state_ = State::size_first;
      return {};
    case State::trailer_first:
      if (c == '\r') {
        state_ = State::last_lf;
        return {};
      }
      if (++overhead_ > kMaxTrailers || !is_token_char(c)) return bad();
      state_ = State::trailer;
      return {};
    case State::trailer:
      if (c == '\r') {
        state_ = State::trailer_lf;
      } else if (++overhead_ > kMaxTrailers || !kValue[static_cast<unsigned char>(c)]) {
        return bad();
      }
      return {};
    case State::trailer_lf:
      if (c != '\n') return bad();
      state_ = State::trailer_first;
      return {};
    case State::last_lf:
      if (c != '\n') return bad();
      state_ = State::done;
      return {};
    case State::data:
    case State::done:
      break;
  }
  return {};
}

}  // namespace atl::net
