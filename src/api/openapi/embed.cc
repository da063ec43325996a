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
constexpr std::string_view kFence = "atoll";  // of a raw string: )atoll" ends it

Result<std::string> to_source(const std::string& path) {
  TRY(const auto text, os::read_file(AT_FDCWD, path, kMostYaml));
  TRY(const auto document, json::parse_yaml(text, path));
  std::string json;
  json::write_value(json, document.value());
  return fmt::format(
      "#include \"api/openapi/document.h\"\n\nnamespace atl::api::openapi {{\n\n"
      "std::string_view operations_json() {{\n  return R\"{0}({1}){0}\";\n}}\n\n"
      "}}  // namespace atl::api::openapi\n",
      kFence, json);
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
