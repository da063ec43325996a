#include "template/image_config.h"

namespace atl {
namespace {

constexpr size_t kMostWords = 1'000;
constexpr size_t kMostBytes = 512 * 1024;
constexpr size_t kLongestUser = 256;
constexpr size_t kLongestPath = 4'095;

Error bad(std::string_view what) {
  return Error(Code::invalid_argument, "the image's configuration: " + std::string(what))
      .with_hint("`docker image inspect NAME` shows it; build the image anew without that");
}

Result<std::string> text_of(const json::Object& object, std::string_view name) {
  const json::Value* value = object.if_contains(name);
  if (value == nullptr || value->is_null()) return std::string();
  if (!value->is_string()) return bad(std::string(name) + " is no text");
  std::string text(value->get_string());
  if (text.find('\0') != std::string::npos) return bad(std::string(name) + " has a NUL in it");
  return text;
}

Result<std::vector<std::string>> words_of(const json::Object& object, std::string_view name) {
  std::vector<std::string> words;
  const json::Value* value = object.if_contains(name);
  if (value == nullptr || value->is_null()) return words;
  if (!value->is_array() || value->get_array().size() > kMostWords)
    return bad(std::string(name) + " is no list, or too long");
  size_t bytes = 0;
  for (const json::Value& word : value->get_array()) {
    if (!word.is_string()) return bad(std::string(name) + " has something that is no text");
    words.emplace_back(word.get_string());
    bytes += words.back().size();
    if (words.back().find('\0') != std::string::npos || bytes > kMostBytes)
      return bad(std::string(name) + " has a NUL in it, or is too long");
  }
  return words;
}

}  // namespace

Result<ImageConfig> read_image_config(const json::Value& document) {
  ImageConfig config;
  const json::Object* top = document.if_object();
  if (top == nullptr) return bad("it is no object");
  const json::Value* member = top->if_contains("config");
  if (member == nullptr || member->is_null()) return config;
  const json::Object* object = member->if_object();
  if (object == nullptr) return bad("it is no object");
  TRY(const auto variables, words_of(*object, "Env"));
  for (const auto& variable : variables) {
    const size_t equals = variable.find('=');
    if (equals == 0 || equals == std::string::npos) return bad("Env has what is not NAME=VALUE");
    config.env[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  TRY(const auto user, text_of(*object, "User"));
  config.user = user.substr(0, user.find(':'));
  if (config.user.size() > kLongestUser) return bad("User is too long");
  TRY(config.cwd, text_of(*object, "WorkingDir"));
  if (!config.cwd.empty() && !config.cwd.starts_with('/')) config.cwd.insert(0, 1, '/');
  if (config.cwd.size() > kLongestPath) return bad("WorkingDir is too long");
  TRY(config.entrypoint, words_of(*object, "Entrypoint"));
  TRY(config.cmd, words_of(*object, "Cmd"));
  return config;
}

}  // namespace atl
