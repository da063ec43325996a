// For the build: operations.yaml in, a source file that holds it as JSON out, so that the daemon
// reads no YAML to tell what it does.
//
//   openapi-embed operations.yaml operations.cc
#include <fcntl.h>
#include <fmt/core.h>

#include "json/write.h"
#include "json/yaml.h"
#include "os/file.h"

namespace atl {
namespace {

constexpr size_t kMostYaml = size_t{1} << 20;
constexpr std::string_view kFence = "atoll";   // of a raw string: )atoll" ends it
constexpr size_t kLiteral = size_t{32} << 10;  // compilers need not take more than 64 KiB in one

// As statements that append to `json`; cut behind commas, which are never within a letter.
std::string to_pieces(std::string_view json) {
  std::string pieces;
  while (!json.empty()) {
    const size_t comma = json.size() > kLiteral ? json.rfind(',', kLiteral) : json.npos;
    const size_t size = comma == json.npos ? json.size() : comma + 1;
    pieces += fmt::format("    json += R\"{0}({1}){0}\";\n", kFence, json.substr(0, size));
    json.remove_prefix(size);
  }
  return pieces;
}

Result<std::string> to_source(const std::string& path) {
  TRY(const auto text, os::read_file(AT_FDCWD, path, kMostYaml));
  TRY(const auto document, json::parse_yaml(text, path));
  std::string json;
  json::write_value(json, document.value());
  return fmt::format(
      "#include \"api/openapi/document.h\"\n\nnamespace atl::api::openapi {{\n\n"
      "std::string_view operations_json() {{\n  static const std::string whole = [] {{\n"
      "    std::string json;\n{}    return json;\n  }}();\n  return whole;\n}}\n\n"
      "}}  // namespace atl::api::openapi\n",
      to_pieces(json));
}

int embed(const std::string& from, const std::string& to) {
  const auto source = to_source(from);
  if (!source) {
    fmt::print(stderr, "openapi-embed: {}\n", source.error().message());
    return 1;
  }
  std::FILE* file = std::fopen(to.c_str(), "we");
  if (file == nullptr) {
    fmt::print(stderr, "openapi-embed: {} cannot be written\n", to);
    return 1;
  }
  const size_t written = std::fwrite(source->data(), 1, source->size(), file);
  const bool is_closed = std::fclose(file) == 0;
  return written == source->size() && is_closed ? 0 : 1;
}

}  // namespace
}  // namespace atl

int main(int count, char** arguments) {
  if (count != 3) {
    fmt::print(stderr, "usage: openapi-embed FROM.yaml TO.cc\n");
    return 2;
  }
  return atl::embed(arguments[1], arguments[2]);
}
