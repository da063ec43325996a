// Log lines with keys and values, one write(2) each, to stderr.
//
//   log_info("sandbox created", {{"id", id}, {"ms", 1.2}});
//
// On a terminal: `07:43:48.120 INFO  sandbox created id=sbx… ms=1.2`, coloured unless NO_COLOR is
// set. Elsewhere one JSON object per line:
// {"ts":"2026-11-15T07:43:48.120Z","level":"info","msg":"sandbox created","id":"sbx…","ms":1.2}.
//
// Values may hold a guest's bytes: they can neither begin a line nor reach the terminal as an
// escape, and long ones are cut. Never log environment values, stdin, file contents or credentials.
//
// Every function here may be called from any thread. Logging is the one process-wide state that we
// keep, because stderr is process-wide.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <variant>

namespace atl::telemetry {

enum class Level : uint8_t { debug, info, warn, error, off };

std::string_view to_string(Level level);
// "debug", "info", "warn" (or "warning"), "error", "off".
std::optional<Level> find_level(std::string_view name);

// One key and its value; borrows text, so it lives as long as the call.
struct Field {
  using Value = std::variant<std::string_view, int64_t, uint64_t, double, bool>;

  Field(std::string_view field_key, std::string_view text) : key(field_key), value(text) {}
  Field(std::string_view field_key, const char* text) : Field(field_key, std::string_view(text)) {}
  Field(std::string_view field_key, bool flag) : key(field_key), value(flag) {}
  Field(std::string_view field_key, std::floating_point auto number)
      : key(field_key), value(static_cast<double>(number)) {}
  template <std::integral Integer>
    requires(!std::same_as<Integer, bool>)
  Field(std::string_view field_key, Integer number)
      : key(field_key),
        value(std::signed_integral<Integer> ? Value(static_cast<int64_t>(number))
                                            : Value(static_cast<uint64_t>(number))) {}

  std::string_view key;  // a constant of ours
  Value value;
};

using Fields = std::initializer_list<Field>;

// Lines below `level` are not written. Until this is called, ATOLL_LOG decides, and without it
// Level::info.
void set_level(Level level);
bool is_logged(Level level);

enum class Format : uint8_t { text, coloured_text, json };

// Where lines go: stderr, in the format that suits it, until this is called. The descriptor stays
// the caller's.
void set_output(int fd, Format format);

void log(Level level, std::string_view message, Fields fields = {});

inline void log_debug(std::string_view message, Fields fields = {}) {
  log(Level::debug, message, fields);
}
inline void log_info(std::string_view message, Fields fields = {}) {
  log(Level::info, message, fields);
}
inline void log_warn(std::string_view message, Fields fields = {}) {
  log(Level::warn, message, fields);
}
inline void log_error(std::string_view message, Fields fields = {}) {
  log(Level::error, message, fields);
}

}  // namespace atl::telemetry
