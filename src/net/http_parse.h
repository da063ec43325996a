// Sans-I/O parsing of HTTP/1.1: message heads and body framing. Only src/net includes this.
//
// Strict where leniency lets two parsers disagree about where a message ends (request smuggling):
// lines end in CRLF, no folded lines, no space before a colon, one Content-Length, never together
// with Transfer-Encoding, no transfer coding but chunked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/http_message.h"

namespace atl::net {

// How the end of a body is known.
enum class Framing : uint8_t { none, sized, chunked, until_close };

struct HeadLimits {
  size_t bytes = 64 * 1024;
  size_t count = 128;
  size_t target = 32 * 1024;
};

// Why a message is refused, and with which status.
struct Refusal {
  int status = 400;
  Code code = Code::invalid_argument;
  std::string detail;
};

// What the head says about the rest of the connection.
struct HeadFacts {
  Framing framing = Framing::none;
  uint64_t size = 0;  // when sized
  bool keep_alive = true;
  bool expects_continue = false;
};

// The number of bytes up to and including the empty line, or npos. `scanned` bytes are known to
// hold no end.
size_t find_head_end(std::string_view bytes, size_t scanned);

// `head` ends with the empty line. `request.peer` is left alone.
std::optional<Refusal> parse_request_head(std::string_view head, const HeadLimits& limits,
                                          Request& request, HeadFacts& facts);

// `asked` is the method of the request that this answers.
Result<> parse_response_head(std::string_view head, const HeadLimits& limits, Method asked,
                             int& status, Headers& headers, HeadFacts& facts);

bool is_token_char(char c);

// Finds a body's bytes and its end in what follows a head.
class BodyDecoder final {
 public:
  void start(Framing framing, uint64_t size);

  struct Step {
    size_t consumed = 0;
    size_t produced = 0;
  };
  // Moves body bytes from `in` to `out`. Nothing produced and not done: more input is needed.
  Result<Step> decode(std::string_view in, char* out, size_t room);

  bool done() const { return state_ == State::done; }
  // How many of the next input bytes are certainly body, so that they can be read straight to where
  // they belong.
  uint64_t direct() const { return state_ == State::data ? left_ : 0; }
  void took(uint64_t count);
  // The stream ended: fine only if that is how the body ends.
  Result<> end_of_stream();

 private:
  enum class State : uint8_t {
    size_first,  // the first digit of a chunk's size
    size,
    extension,
    size_lf,
    data,
    data_cr,
    data_lf,
    trailer_first,
    trailer,
    trailer_lf,
    last_lf,
    done,
  };

  Result<> step(char c);

  State state_ = State::done;
  Framing framing_ = Framing::none;
  uint64_t left_ = 0;
  size_t overhead_ = 0;  // bytes of this chunk's extension, or of all trailers
};

}  // namespace atl::net
