#include "net/http_message.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/ids.h"
#include "net/problem_name.h"

namespace atl::net {
namespace {

constexpr std::array<std::pair<Method, std::string_view>, 9> kMethods{{
    {Method::get, "GET"},
    {Method::head, "HEAD"},
    {Method::post, "POST"},
    {Method::put, "PUT"},
    {Method::delete_, "DELETE"},
    {Method::patch, "PATCH"},
    {Method::options, "OPTIONS"},
    {Method::trace, "TRACE"},
    {Method::connect, "CONNECT"},
}};

struct Reason {
  int status;
  std::string_view phrase;
};

// By status.
constexpr std::array<Reason, 44> kReasons{{
    {100, "Continue"},
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {425, "Too Early"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {499, "Client Closed Request"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
}};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char small = lower(c);
  if (small >= 'a' && small <= 'f') return small - 'a' + 10;
  return -1;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace

std::string_view to_string(Method method) {
  for (const auto& [known, name] : kMethods) {
    if (known == method) return name;
  }
  return "";
}

Method parse_method(std::string_view text) {
  for (const auto& [known, name] : kMethods) {
    if (name == text) return known;
  }
  return Method::other;
}

bool is_idempotent(Method method) {
  switch (method) {
    case Method::get:
    case Method::head:
    case Method::put:
    case Method::delete_:
    case Method::options:
    case Method::trace:
      return true;
    case Method::post:
    case Method::patch:
    case Method::connect:
    case Method::other:
      return false;
  }
  return false;
}

std::string_view reason_phrase(int status) {
  const auto found =
      std::lower_bound(kReasons.begin(), kReasons.end(), status,
                       [](const Reason& reason, int s) { return reason.status < s; });
  return found != kReasons.end() && found->status == status ? found->phrase : std::string_view();
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

bool has_token(std::string_view value, std::string_view token) {
  while (!value.empty()) {
    const size_t comma = value.find(',');
    if (equals_ignoring_case(trim(value.substr(0, comma)), token)) return true;
    if (comma == std::string_view::npos) break;
    value.remove_prefix(comma + 1);
  }
  return false;
}

void Headers::add(std::string_view name, std::string_view value) {
  spans_.push_back({static_cast<uint32_t>(text_.size()), static_cast<uint32_t>(name.size()),
                    static_cast<uint32_t>(value.size())});
  text_.append(name);
  text_.append(value);
}

void Headers::set(std::string_view name, std::string_view value) {
  remove(name);
  add(name, value);
}

void Headers::remove(std::string_view name) {
  // The text stays in the block; it goes with the message.
  std::erase_if(spans_, [&](const Span& span) {
    return equals_ignoring_case(std::string_view(text_).substr(span.start, span.name_size), name);
  });
}

void Headers::clear() {
  text_.clear();
  spans_.clear();
}

std::optional<std::string_view> Headers::find(std::string_view name) const {
  for (size_t i = 0; i < spans_.size(); ++i) {
    if (spans_[i].name_size != name.size()) continue;
    const Field field = (*this)[i];
    if (equals_ignoring_case(field.name, name)) return field.value;
  }
  return std::nullopt;
}

size_t Headers::count(std::string_view name) const {
  size_t found = 0;
  for (size_t i = 0; i < spans_.size(); ++i) {
    if (equals_ignoring_case((*this)[i].name, name)) ++found;
  }
  return found;
}

Headers::Field Headers::operator[](size_t index) const {
  const Span& span = spans_[index];
  const std::string_view all = text_;
  return {all.substr(span.start, span.name_size),
          all.substr(span.start + span.name_size, span.value_size)};
}

void Query::add(std::string name, std::string value) {
  pairs_.emplace_back(std::move(name), std::move(value));
}

std::optional<std::string_view> Query::find(std::string_view name) const {
  for (const auto& [known, value] : pairs_) {
    if (known == name) return value;
  }
  return std::nullopt;
}

std::vector<std::string_view> Query::all(std::string_view name) const {
  std::vector<std::string_view> found;
  for (const auto& [known, value] : pairs_) {
    if (known == name) found.push_back(value);
  }
  return found;
}

Result<std::string> percent_decode(std::string_view text, PlusSign plus) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return Error(Code::invalid_argument, "a % that two hexadecimal digits do not follow");
      }
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus == PlusSign::space) {
      c = ' ';
    }
    if (c == '\0') return Error(Code::invalid_argument, "a NUL byte");
    out += c;
  }
  return out;
}

std::string percent_encode(std::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

Result<> Request::set_target(std::string_view text) {
  target.assign(text);
  path.clear();
  segments.clear();
  query.clear();

  // A proxy's form, "http://host/path": what is before the path does not concern us.
  for (const std::string_view scheme :
       {std::string_view("http://"), std::string_view("https://")}) {
    if (text.size() > scheme.size() &&
        equals_ignoring_case(text.substr(0, scheme.size()), scheme)) {
      const size_t start = text.find_first_of("/?", scheme.size());
      text = start == std::string_view::npos ? std::string_view("/") : text.substr(start);
      break;
    }
  }
  text = text.substr(0, text.find('#'));
  const size_t question = text.find('?');
  std::string_view raw_path = text.substr(0, question);
  if (raw_path == "*") {
    path = "*";
    return {};
  }
  if (raw_path.empty()) raw_path = "/";
  if (raw_path.front() != '/') {
    return Error(Code::invalid_argument, "the target must begin with a slash");
  }
  if (raw_path.size() > 1) {
    std::string_view rest = raw_path.substr(1);
    while (true) {
      const size_t slash = rest.find('/');
      TRY(std::string segment, percent_decode(rest.substr(0, slash)));
      path += '/';
      path += segment;
      segments.push_back(std::move(segment));
      if (slash == std::string_view::npos) break;
      rest.remove_prefix(slash + 1);
    }
  } else {
    path = "/";
  }

  std::string_view rest = question == std::string_view::npos ? "" : text.substr(question + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    TRY(std::string name, percent_decode(pair.substr(0, equals), PlusSign::space));
    std::string value;
    if (equals != std::string_view::npos) {
      TRY(value, percent_decode(pair.substr(equals + 1), PlusSign::space));
    }
    query.add(std::move(name), std::move(value));
  }
  return {};
}

Response make_problem(int status, const Error& error) {
  Response response;
  response.status = status;
  response.headers.add("Content-Type", "application/problem+json");
  std::string& body = response.body;
  const std::string_view code = to_string(error.code());
  body = fmt::format(R"({{"type":"{}","title":"{}","status":{},"code":"{}","detail":)",
                     problem_type(code), problem_title(code), status, code);
  append_json_string(body, error.message());
  const auto add = [&](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    body += fmt::format(R"(,"{}":)", name);
    append_json_string(body, value);
  };
  add("stage", error.stage());
  add("hint", error.hint());
  // Also what never reached a handler can be named in a report.
  const std::string request_id = make_request_id();
  const std::string trace_id = make_trace_id();
  response.headers.add("X-Request-Id", request_id);
  response.headers.add("X-Trace-Id", trace_id);
  body += fmt::format(R"(,"retryable":{},"request_id":"{}","trace_id":"{}"}})",
                      is_retryable(error.code()), request_id, trace_id);
  return response;
}

}  // namespace atl::net
