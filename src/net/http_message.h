// The nouns of HTTP/1.1: Method, Headers, Query, Request, Response.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "net/byte_stream.h"

namespace atl::net {

enum class Method : uint8_t {
  get,
  head,
  post,
  put,
  delete_,
  patch,
  options,
  trace,
  connect,
  other
};

std::string_view to_string(Method method);   // "GET"; "" for other
Method parse_method(std::string_view text);  // case matters, as HTTP has it
bool is_idempotent(Method method);  // may be sent again when nobody knows whether it arrived
std::string_view reason_phrase(int status);                         // "Not Found"; "" when unknown
bool equals_ignoring_case(std::string_view a, std::string_view b);  // ASCII
// Whether a comma-separated header value (Connection, Upgrade…) names `token`.
bool has_token(std::string_view value, std::string_view token);

// Header fields in the order they were added. All text lies in one block, so a message costs two
// allocations however many fields it has. The views that it gives out live until the next add, set,
// remove or clear.
class Headers final {
 public:
  struct Field {
    std::string_view name;
    std::string_view value;
  };

  Headers() = default;
  Headers(std::initializer_list<Field> fields) {
    for (const Field& field : fields) add(field.name, field.value);
  }

  void add(std::string_view name, std::string_view value);
  void set(std::string_view name, std::string_view value);  // replaces all of that name
  void remove(std::string_view name);
  void clear();  // keeps the memory

  // The first of that name, or nullopt.
  std::optional<std::string_view> find(std::string_view name) const;
  // The first of that name, or "".
  std::string_view get(std::string_view name) const { return find(name).value_or(""); }
  bool contains(std::string_view name) const { return find(name).has_value(); }
  size_t count(std::string_view name) const;

  size_t size() const { return spans_.size(); }
  bool empty() const { return spans_.empty(); }
  Field operator[](size_t index) const;

 private:
  struct Span {
    uint32_t start;
    uint32_t name_size;
    uint32_t value_size;
  };

  std::string text_;
  std::vector<Span> spans_;
};

// The decoded parameters of a target, in order; names may repeat. "+" reads as a space.
class Query final {
 public:
  void add(std::string name, std::string value);
  void clear() { pairs_.clear(); }

  std::optional<std::string_view> find(std::string_view name) const;
  std::string_view get(std::string_view name) const { return find(name).value_or(""); }
  bool contains(std::string_view name) const { return find(name).has_value(); }
  std::vector<std::string_view> all(std::string_view name) const;

  size_t size() const { return pairs_.size(); }
  bool empty() const { return pairs_.empty(); }
  auto begin() const { return pairs_.begin(); }
  auto end() const { return pairs_.end(); }

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

// "%41" → "A". Fails on a malformed escape and on NUL, so that no check further on sees less than
// the kernel would.
enum class PlusSign : uint8_t { literal, space };
Result<std::string> percent_decode(std::string_view text, PlusSign plus = PlusSign::literal);
// Escapes everything but letters, digits and "-._~".
std::string percent_encode(std::string_view text);

// Where a connection comes from.
struct Peer {
  std::string address;  // "127.0.0.1", "::1"; "" for a Unix socket
  uint16_t port = 0;
  std::optional<PeerCredentials> credentials;  // Unix sockets only
  bool tls = false;
};

// One request as the server got it. Lives as long as its exchange.
struct Request {
  Method method = Method::get;
  std::string method_name;  // as sent; the only name that Method::other has
  std::string target;       // as sent
  // The path, percent-decoded, starting with "/" ("*" for `OPTIONS *`). An escaped slash is a slash
  // here but stays inside its segment below; "." and ".." are left as they are.
  std::string path;
  std::vector<std::string>
      segments;  // "/v1/sandboxes/x" → {"v1", "sandboxes", "x"}; "/" → {}; "/a/" → {"a", ""}
  Query query;
  Headers headers;
  int minor_version = 1;  // HTTP/1.minor
  Peer peer;

  // Splits and decodes a target into path, segments and query.
  Result<> set_target(std::string_view text);
};

struct Response {
  int status = 200;
  // Content-Length, Transfer-Encoding, Connection and Date are the server's and ignored if given
  // here.
  Headers headers;
  std::string body;
};

// problem+json as the server itself answers what it refuses.
// The status belongs to HTTP, the rest is the error's.
Response make_problem(int status, const Error& error);

}  // namespace atl::net
