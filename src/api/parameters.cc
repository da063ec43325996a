#include "api/parameters.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "json/path.h"

namespace atl::api {
namespace {

constexpr size_t kMostPath = 4095;  // PATH_MAX without its NUL

Error invalid(std::string_view name, std::string_view problem) {
  return Error(Code::invalid_argument, std::string(name) + ": " + std::string(problem))
      .at_stage("request");
}

Result<std::string> decode_path(std::string_view name, std::string_view text) {
  auto bytes = from_base64(text);
  if (!bytes) return invalid(name, "it is not base64");
  return std::move(*bytes);
}

}  // namespace

Result<> check_parameters(const net::Query& query, std::string_view known) {
  if (query.empty()) return {};
  std::vector<std::string> names = split(known, ' ');
  std::erase(names, "");
  std::vector<std::string_view> seen;
  for (const auto& [name, value] : query) {
    const auto repeats = std::ranges::find(names, name + "*");
    if (repeats != names.end()) continue;
    if (std::ranges::find(names, name) == names.end()) {
      for (auto& other : names) {
        if (other.ends_with('*')) other.pop_back();
      }
      const std::string near = did_you_mean(name, names);
      auto error =
          Error(Code::invalid_argument, "unknown query parameter " + json::quote(name) +
                                            (near.empty() ? "" : " (did you mean " + near + "?)"))
              .at_stage("request");
      std::string all;
      for (const auto& other : names) all += (all.empty() ? "" : ", ") + other;
      return std::move(error).with_hint(all.empty() ? "this route takes none"
                                                    : "this route knows: " + all);
    }
    if (std::ranges::find(seen, name) != seen.end()) return invalid(name, "it is there twice");
    seen.push_back(name);
  }
  return {};
}

Result<std::optional<uint64_t>> read_number(const net::Query& query, std::string_view name,
                                            uint64_t most) {
  const auto text = query.find(name);
  if (!text) return std::optional<uint64_t>();
  uint64_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [at, problem] = std::from_chars(text->data(), end, number);
  if (problem != std::errc() || at != end || number > most) {
    return invalid(name,
                   json::quote(*text) + " is no whole number from 0 to " + std::to_string(most));
  }
  return std::optional(number);
}

Result<std::optional<bool>> read_flag(const net::Query& query, std::string_view name) {
  const auto text = query.find(name);
  if (!text) return std::optional<bool>();
  if (*text == "true" || *text == "1" || text->empty()) return std::optional(true);
  if (*text == "false" || *text == "0") return std::optional(false);
  return invalid(name, json::quote(*text) + " is neither true nor false");
}

Result<> check_path(std::string_view field, std::string_view path) {
  if (path.empty()) return invalid(field, "it is empty");
  if (path.find('\0') != std::string_view::npos) return invalid(field, "it has a NUL in it");
  if (path.size() > kMostPath) {
    return invalid(field, "it has " + std::to_string(path.size()) + " bytes, at most " +
                              std::to_string(kMostPath) + " are allowed");
  }
  return {};
}

Result<std::optional<std::string>> read_path(const net::Query& query) {
  const auto plain = query.find("path");
  const auto encoded = query.find("path_b64");
  if (plain && encoded) return invalid("path", "give either path or path_b64");
  if (!plain && !encoded) return std::optional<std::string>();
  std::string path;
  if (plain) {
    path = *plain;
  } else {
    TRY(path, decode_path("path_b64", *encoded));
  }
  TRY_OK(check_path(plain ? "path" : "path_b64", path));
  return std::optional(std::move(path));
}

Result<std::string> read_needed_path(const net::Query& query) {
  TRY(auto path, read_path(query));
  if (path) return *std::move(path);
  return invalid("path", "missing").with_hint("name the file: ?path=notes.txt");
}

Error unknown_choice(std::string_view name, std::string_view value,
                     const std::vector<std::string>& choices) {
  std::string all;
  for (const auto& choice : choices) all += (all.empty() ? "" : ", ") + choice;
  return invalid(name, json::quote(value) + " is none of: " + all);
}

}  // namespace atl::api
