#include "config/value.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "base/time_words.h"
#include "config/kinds.h"
#include "config/run_modes.h"
#include "json/path.h"

namespace atl::config {
namespace {

constexpr size_t kLongestWord = 4'096;
constexpr size_t kMostEntries = 1'000;

Error wrong(std::string message, std::string_view hint = {}) {
  Error error(Code::invalid_argument, std::move(message));
  return hint.empty() ? error : std::move(error).with_hint(hint);
}

std::string_view kind_of(const json::Value& value) {
  if (value.is_null()) return "nothing";
  if (value.is_bool()) return "true or false";
  if (value.is_number()) return "a number";
  if (value.is_string()) return "text";
  return value.is_array() ? "a list" : "a map";
}

Error expected(std::string_view what, const json::Value& value) {
  return wrong(fmt::format("expected {}, got {}", what, kind_of(value)));
}

std::string_view view(const json::Value& value) {
  const auto& text = value.get_string();
  return {text.data(), text.size()};
}

json::Value text_value(std::string_view text) {
  return json::Value(boost::json::string_view(text.data(), text.size()));
}

// "60_000" → 60000; nothing for what is no plain number.
std::optional<double> find_number(std::string_view text) {
  std::string digits(text);
  if (digits.starts_with('_') || digits.ends_with('_')) return std::nullopt;
  std::erase(digits, '_');
  double number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, trouble] = std::from_chars(digits.data(), end, number);
  if (trouble != std::errc() || stop != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::optional<double> find_number(const json::Value& value) {
  if (value.is_string()) return find_number(view(value));
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  if (value.is_double() && std::isfinite(value.get_double())) return value.get_double();
  return std::nullopt;
}

Result<> check_range(const Key& key, double number, std::string_view unit) {
  const bool has_limit = key.most > 0;
  if (number >= key.least && (!has_limit || number <= key.most)) return {};
  if (has_limit && key.least == key.most) {
    return wrong(fmt::format("only {} is known", key.most), "is the file made for a newer Atoll?");
  }
  const std::string blank = unit.empty() ? "" : " ";
  return wrong(has_limit
                   ? fmt::format("it is between {} and {}{}{}", key.least, key.most, blank, unit)
                   : fmt::format("it is at least {}{}{}", key.least, blank, unit));
}

Result<> check_time_range(const Key& key, double ms) {
  const auto words = [](double count) {
    return in_words(std::chrono::milliseconds(static_cast<int64_t>(std::ceil(count))));
  };
  constexpr double kMostCounted = 1e15;
  if (ms > kMostCounted) return wrong("it is too long a time");
  if (key.most > 0 && ms > key.most * 1'000) {
    return wrong(
        fmt::format("{} is longer than {}, which is the most", words(ms), words(key.most * 1'000)));
  }
  if (ms >= key.least * 1'000) return {};
  return wrong(ms > 0 ? fmt::format("{} is shorter than {}, which is the least", words(ms),
                                    words(key.least * 1'000))
                      : std::string("it must be more than zero"));
}

std::string size_text(int64_t mib) {
  return mib % 1024 == 0 ? fmt::format("{}g", mib / 1024) : fmt::format("{}m", mib);
}

Result<json::Value> to_size(const Key& key, Unit unit, const json::Value& written) {
  constexpr double kMib = 1 << 20;
  double mib = 0;
  if (const auto number = find_number(written)) {
    mib = std::ceil(*number * (unit == Unit::gibibytes ? 1024 : 1));
  } else if (written.is_string()) {
    std::string text(view(written));
    if (text.ends_with('i')) text += 'B';  // as Kubernetes writes it: 512Mi
    auto bytes = parse_size(text);
    if (!bytes) return wrong("expected a size such as 256m or 2g", "a number alone counts MiB");
    mib = std::ceil(static_cast<double>(*bytes) / kMib);
  } else {
    return expected("a size such as 256m or 2g", written);
  }
  auto fits = check_range(key, mib, "MiB");
  if (!fits && mib > key.most && find_number(written)) {
    return wrong(fits.error().message(),
                 "a number alone counts MiB; for bytes write the unit: 268435456b");
  }
  if (!fits) return std::move(fits).error();
  return text_value(size_text(static_cast<int64_t>(mib)));
}

Result<json::Value> to_processors(const Key& key, Unit unit, const json::Value& written) {
  constexpr double kFirstShare = 128;
  std::optional<double> number = find_number(written);
  if (!number && written.is_string() && view(written).ends_with('m')) {
    const std::string_view text = view(written);
    number = find_number(text.substr(0, text.size() - 1));
    if (number) *number /= 1000;
  } else if (number && unit == Unit::shares && *number >= kFirstShare) {
    *number /= 1024;
  }
  if (!number) return expected("a number of processors such as 0.5 or 2", written);
  if (!(*number > 0) || *number > key.most) {
    return wrong(fmt::format("it is more than 0 and at most {} processors", key.most));
  }
  return json::Value(*number);
}

Result<json::Value> to_count(const Key& key, const json::Value& written) {
  const auto number = find_number(written);
  if (!number) return expected("a whole number", written);
  if (*number != std::floor(*number)) return wrong("expected a whole number, got a fraction");
  TRY_OK(check_range(key, *number, ""));
  return json::Value(static_cast<int64_t>(*number));
}

std::string time_text(int64_t ms) {
  constexpr std::pair<int64_t, std::string_view> kUnits[] = {
      {86'400'000, "d"}, {3'600'000, "h"}, {60'000, "m"}, {1'000, "s"}};
  for (const auto& [length, unit] : kUnits) {
    if (ms % length == 0) return fmt::format("{}{}", ms / length, unit);
  }
  return fmt::format("{}ms", ms);
}

Result<json::Value> to_time(const Key& key, Unit unit, const json::Value& written) {
  double ms = 0;
  if (const auto number = find_number(written)) {
    ms = *number * (unit == Unit::milliseconds ? 1 : 1'000);
  } else if (written.is_string()) {
    const auto time = parse_duration(view(written));
    if (!time) return wrong("expected a time such as 500ms, 30s, 15m or 2h");
    ms = static_cast<double>(time->count());
  } else {
    return expected("a time such as 500ms, 30s, 15m or 2h", written);
  }
  TRY_OK(check_time_range(key, ms));
  return text_value(time_text(static_cast<int64_t>(std::ceil(ms))));
}

Result<std::string> to_word(const json::Value& written) {
  std::string word;
  if (written.is_string()) {
    word = view(written);
  } else if (written.is_bool()) {
    word = written.get_bool() ? "true" : "false";
  } else if (written.is_int64()) {
    word = std::to_string(written.get_int64());
  } else if (written.is_uint64()) {
    word = std::to_string(written.get_uint64());
  } else if (written.is_double()) {
    word = fmt::format("{}", written.get_double());
  } else {
    return expected("text", written);
  }
  return word;
}

Result<> check_plain(std::string_view word) {
  if (word.empty()) return wrong("it is empty");
  if (word.size() > kLongestWord) return wrong("it is longer than 4096 bytes");
  const bool plain = is_utf8(word) && std::ranges::all_of(word, [](char c) {
                       return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
                     });
  if (!plain) return wrong("it has control characters or is no UTF-8");
  return {};
}

Result<json::Value> to_text_value(const json::Value& written) {
  TRY(const std::string word, to_word(written));
  TRY_OK(check_plain(word));
  return text_value(word);
}

Result<json::Value> to_flag(const json::Value& written) {
  if (written.is_bool()) return written;
  if (written.is_string() && view(written) == "true") return json::Value(true);
  if (written.is_string() && view(written) == "false") return json::Value(false);
  return expected("true or false", written);
}

Result<json::Value> to_texts(const json::Value& written) {
  json::Array texts;
  if (const auto* list = written.if_array()) {
    if (list->size() > kMostEntries) return wrong("it has more than 1000 entries");
    for (const json::Value& entry : *list) {
      TRY(auto text, to_text_value(entry));
      texts.push_back(std::move(text));
    }
  } else {
    TRY(auto text, to_text_value(written));
    texts.push_back(std::move(text));
  }
  return json::Value(std::move(texts));
}

Result<json::Value> to_volumes(const json::Value& written) {
  TRY(auto texts, to_texts(written));
  for (const json::Value& text : texts.get_array()) TRY_OK(to_volume(view(text)));
  return texts;
}

// Values may be secrets, so no message shows one.
Result<> add_variable(json::Object& variables, std::string_view name, const json::Value& value) {
  TRY_OK(check_plain(name));
  if (name.find('=') != std::string_view::npos || name.find(' ') != std::string_view::npos) {
    return wrong("a name has neither '=' nor blanks in it");
  }
  auto word = to_word(value);
  if (!word) return wrong("the value of " + json::quote(name) + ": " + word.error().message());
  if (word->size() > size_t{64} * 1024) return wrong("a value is longer than 64 KiB");
  if (word->find('\0') != std::string::npos || !is_utf8(*word)) {
    return wrong("the value of " + json::quote(name) + " has a NUL in it or is no UTF-8");
  }
  const boost::json::string_view key(name.data(), name.size());
  if (variables.contains(key)) return wrong(json::quote(name) + " is given twice");
  variables.emplace(key, text_value(*word));
  return {};
}

Result<json::Value> to_variables(const json::Value& written) {
  json::Object variables;
  if (const auto* map = written.if_object()) {
    if (map->size() > kMostEntries) return wrong("it has more than 1000 entries");
    for (const auto& member : *map) {
      const std::string_view name(member.key().data(), member.key().size());
      TRY_OK(add_variable(variables, name, member.value()));
    }
  } else if (const auto* list = written.if_array()) {
    if (list->size() > kMostEntries) return wrong("it has more than 1000 entries");
    for (const json::Value& entry : *list) {
      const std::string_view text = entry.is_string() ? view(entry) : "";
      const size_t equals = text.find('=');
      if (equals == std::string_view::npos) return wrong("an entry of the list is not NAME=value");
      TRY_OK(add_variable(variables, text.substr(0, equals), text_value(text.substr(equals + 1))));
    }
  } else {
    return expected("NAME: value, or a list of NAME=value", written);
  }
  return json::Value(std::move(variables));
}

Result<json::Value> to_choice(const json::Value& written, const std::vector<std::string>& known,
                              std::string_view what) {
  TRY(const std::string word, to_word(written));
  if (std::ranges::find(known, word) != known.end()) return text_value(word);
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  const std::string near = did_you_mean(word, known);
  return wrong(fmt::format("{} is no {}", json::quote(word), what),
               near.empty() ? "known: " + list : "did you mean " + near + "?");
}

Result<json::Value> to_network(const json::Value& written) {
  const json::Value* mode = &written;
  if (const auto* map = written.if_object()) {
    mode = map->if_contains("mode");
    if (mode == nullptr || map->size() != 1) {
      return wrong("below network stands mode and nothing else", "write network: {mode: none}");
    }
  }
  if (mode->is_bool() && !mode->get_bool()) return text_value("none");
  TRY(const std::string word, to_word(*mode));
  if (word == "none" || word == "deny" || word == "off") return text_value("none");
  return Error(Code::unsupported, "the network mode " + json::quote(word) + " is not built yet")
      .with_hint(word == "bridge" ? "it takes a profile that allows it: network: bridge"
                                  : "sandboxes have no network; leave it out, or write none");
}

Result<json::Value> to_driver(const json::Value& written) {
  TRY(const std::string word, to_word(written));
  if (const Kind* kind = find_kind(word)) return text_value(kind->name);
  const std::string near = did_you_mean(to_snake_case(word), kind_names());
  return wrong("no kind of sandbox is called " + json::quote(word),
               near.empty() ? "docs/configuration.md lists them" : "did you mean " + near + "?");
}

Result<json::Value> to_run_mode(const json::Value& written) {
  TRY(const std::string word, to_word(written));
  const std::string snake = to_snake_case(word);
  if (is_hybrid(snake)) {
    TRY_OK(check_plain(snake));
    return text_value(snake);
  }
  if (const auto mode = find_run_mode(word)) return text_value(mode->name);
  return to_driver(written);
}

}  // namespace

Result<json::Value> to_canonical(const Key& key, Unit unit, const json::Value& written) {
  if (written.is_null()) return wrong("it has no value", "give it one, or leave it out");
  switch (key.type) {
    case Type::size:
      return to_size(key, unit, written);
    case Type::processors:
      return to_processors(key, unit, written);
    case Type::count:
      return to_count(key, written);
    case Type::time:
      return to_time(key, unit, written);
    case Type::flag:
      return to_flag(written);
    case Type::texts:
      return to_texts(written);
    case Type::volumes:
      return to_volumes(written);
    case Type::variables:
      return to_variables(written);
    case Type::isolation:
      return to_choice(written, {"none", "process", "container", "sentry", "vm"},
                       "level of isolation");
    case Type::here:
      return to_choice(written, {"auto", "cow", "ro", "rw"}, "way to show a directory");
    case Type::network:
      return to_network(written);
    case Type::driver:
      return to_driver(written);
    case Type::run_mode:
      return to_run_mode(written);
    case Type::strategy:
      return to_choice(written, {"priority", "fastest", "cheapest", "round_robin", "weighted"},
                       "strategy");
    case Type::profiles:
      if (written.is_object()) return written;
      return to_text_value(written);
    case Type::text:
    case Type::path:
    case Type::secret:
      return to_text_value(written);
  }
  return wrong("it has a type that nobody knows");
}

Result<json::Value> to_canonical(const Key& key, std::string_view text) {
  return to_canonical(key, key.unit, text_value(text));
}

std::string to_flag_text(const json::Value& value) {
  auto word = to_word(value);
  return word ? *word : "";
}

double magnitude(const Key& key, const json::Value& canonical) {
  if (const auto number = find_number(canonical)) return *number;
  if (!canonical.is_string()) return 0;
  if (key.type == Type::size) {
    const auto bytes = parse_size(view(canonical));
    return bytes ? static_cast<double>(*bytes) / (1 << 20) : 0;
  }
  if (key.type == Type::time) {
    const auto time = parse_duration(view(canonical));
    return time ? static_cast<double>(time->count()) / 1'000 : 0;
  }
  return 0;
}

Result<Volume> to_volume(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return wrong(fmt::format("{} {}", json::quote(text), why), "the form is SRC[:DST][:ro|rw|cow]");
  };
  std::vector<std::string> parts = split(text, ':');
  Volume volume{.mode = "rw"};
  if (parts.size() > 1 && (parts.back() == "ro" || parts.back() == "rw" || parts.back() == "cow")) {
    volume.mode = parts.back();
    parts.pop_back();
  }
  if (parts[0].empty()) return bad("names no directory");
  if (parts.size() > 2) return bad("has too many parts");
  volume.source = parts[0];
  if (parts.size() == 2) {
    if (!parts[1].starts_with('/')) return bad("has a second part that is no absolute path");
    volume.target = parts[1];
  }
  return volume;
}

bool is_host_control(std::string_view path) {
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  for (const std::string_view socket : {"docker.sock", "podman.sock", "containerd.sock",
                                        "crio.sock", "buildkitd.sock", "atoll.sock"}) {
    if (name == socket) return true;
  }
  return false;
}

}  // namespace atl::config
