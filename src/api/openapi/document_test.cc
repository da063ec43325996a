// The document says what the routes and the structs say, and docs/openapi.yaml says what it says.
#include "api/openapi/document.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>

#include <set>

#include "api/openapi/yaml_text.h"
#include "api/route.h"
#include "base/text.h"
#include "json/yaml.h"
#include "os/file.h"

namespace atl::api::openapi {
namespace {

using ::testing::IsEmpty;

constexpr std::string_view kHead =
    "# Made from src/api/openapi/operations.yaml, the structs of src/api/v1 and the routes: see\n"
    "# docs/api-changes.md. `ATOLL_UPDATE_GUIDE=1 api_test` writes it anew.\n";

const json::Value& document() {
  static const json::Value made = make_document();
  return made;
}

std::string text_of(const boost::json::string& text) { return {text.data(), text.size()}; }

template <typename Visit>
void visit_objects(const json::Value& value, const Visit& visit) {
  if (const auto* object = value.if_object()) {
    visit(*object);
    for (const auto& member : *object) visit_objects(member.value(), visit);
  } else if (const auto* array = value.if_array()) {
    for (const auto& element : *array) visit_objects(element, visit);
  }
}

std::set<std::string> references(const json::Value& value) {
  std::set<std::string> found;
  visit_objects(value, [&](const json::Object& object) {
    if (const auto* reference = object.if_contains("$ref"); reference && reference->is_string()) {
      found.insert(text_of(reference->as_string()));
    }
  });
  return found;
}

std::set<std::string> components(std::string_view kind) {
  std::set<std::string> names;
  for (const auto& one : document().at("components").at(kind).as_object()) {
    names.insert("#/components/" + std::string(kind) + "/" + std::string(one.key()));
  }
  return names;
}

// "GET /v1/sandboxes cursor driver label …": method, path and query parameters, sorted.
std::string to_line(std::string method, std::string_view path, const std::set<std::string>& names) {
  for (char& c : method) c = static_cast<char>(std::toupper(c));
  std::string line = method + " " + std::string(path);
  for (const auto& name : names) line += " " + name;
  return line;
}

void add_parameters(const json::Value& owner, std::set<std::string>& names) {
  const auto* list = owner.as_object().if_contains("parameters");
  if (list == nullptr) return;
  for (const auto& given : list->as_array()) {
    const auto* reference = given.as_object().if_contains("$ref");
    const std::string name = reference != nullptr ? text_of(reference->as_string()) : "";
    const auto& parameter =
        reference == nullptr
            ? given
            : document().at("components").at("parameters").at(name.substr(name.rfind('/') + 1));
    if (parameter.at("in").as_string() == "query") {
      names.insert(text_of(parameter.at("name").as_string()));
    }
  }
}

std::set<std::string> described() {
  std::set<std::string> lines;
  for (const auto& path : document().at("paths").as_object()) {
    for (const auto& operation : path.value().as_object()) {
      if (operation.key() == "parameters") continue;
      std::set<std::string> names;
      add_parameters(path.value(), names);
      add_parameters(operation.value(), names);
      lines.insert(to_line(std::string(operation.key()), std::string(path.key()), names));
    }
  }
  return lines;
}

std::set<std::string> served() {
  std::set<std::string> lines;
  for (const Route& route : all_routes()) {
    std::set<std::string> names;
    for (auto& name : split(route.parameters, ' ')) {
      if (name.ends_with('*')) name.pop_back();
      if (!name.empty()) names.insert(name);
    }
    lines.insert(to_line(std::string(net::to_string(route.method)), route.pattern, names));
  }
  return lines;
}

std::vector<std::string> missing_from(const std::set<std::string>& there,
                                      const std::set<std::string>& wanted) {
  std::vector<std::string> missing;
  std::ranges::set_difference(wanted, there, std::back_inserter(missing));
  return missing;
}

TEST(OpenApi, HasTheRoutesAndParametersThatAreServed) {
  EXPECT_THAT(missing_from(described(), served()), IsEmpty()) << "not in operations.yaml";
  EXPECT_THAT(missing_from(served(), described()), IsEmpty()) << "not in routes.cc";
}

TEST(OpenApi, TellsWhatEachRouteNeeds) {
  for (const Route& route : all_routes()) {
    std::string method(net::to_string(route.method));
    for (char& c : method) c = static_cast<char>(std::tolower(c));
    const auto& operation = document().at("paths").at(route.pattern).as_object().at(method);

    EXPECT_EQ(text_of(operation.at("x-action").as_string()), json::name_of(route.action))
        << method << " " << route.pattern;
    EXPECT_EQ(route.action == Action::open, operation.as_object().contains("security"))
        << method << " " << route.pattern;
  }
}

TEST(OpenApi, HasEverythingThatItRefersTo) {
  std::set<std::string> there = components("schemas");
  there.merge(components("parameters"));
  there.merge(components("responses"));

  EXPECT_THAT(missing_from(there, references(document())), IsEmpty());
}

// A schema that is decoded and that no operation takes was forgotten in operations.yaml.
TEST(OpenApi, RefersToEverySchema) {
  EXPECT_THAT(missing_from(references(document()), components("schemas")), IsEmpty());
}

TEST(OpenApi, WritesNoRequestByHand) {
  const auto made = request_schemas();
  const auto source = json::parse(operations_json(), {.max_bytes = size_t{4} << 20});
  ASSERT_TRUE(source);
  for (const auto& path : source->at("paths").as_object()) {
    for (const auto& operation : path.value().as_object()) {
      const auto* body = operation.value().is_object()
                             ? operation.value().as_object().if_contains("requestBody")
                             : nullptr;
      if (body == nullptr) continue;
      const auto* json = body->at("content").as_object().if_contains("application/json");
      if (json == nullptr) continue;
      const auto& schema = json->at("schema").as_object();
      ASSERT_TRUE(schema.contains("$ref")) << path.key() << " " << operation.key();
      const std::string name = text_of(schema.at("$ref").as_string());
      EXPECT_TRUE(made.all().contains(name.substr(name.rfind('/') + 1))) << name;
    }
  }
  for (const auto& [name, schema] : made.all()) {
    EXPECT_FALSE(source->at("components").at("schemas").as_object().contains(name)) << name;
  }
}

TEST(OpenApi, IsWhatTheDocumentationHas) {
  const std::string path = ATOLL_OPENAPI;
  const std::string wanted = std::string(kHead) + to_yaml(document());
  if (getenv("ATOLL_UPDATE_GUIDE") != nullptr) {
    const size_t slash = path.rfind('/');
    const auto directory = os::open_at(AT_FDCWD, path.substr(0, slash), O_PATH | O_DIRECTORY);
    ASSERT_TRUE(directory);
    ASSERT_TRUE(os::replace_file(directory->get(), path.substr(slash + 1), wanted, 0644));
    return;
  }
  const auto text = os::read_file(AT_FDCWD, path, 1 << 20);
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_TRUE(*text == wanted)
      << "docs/openapi.yaml is stale: run api_test with ATOLL_UPDATE_GUIDE=1";
}

TEST(OpenApi, IsTheSameAsYaml) {
  const auto read = json::parse_yaml(to_yaml(document()), "openapi.yaml");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->value(), document());
}

TEST(OpenApi, ComesWithATagOfItsContent) {
  EXPECT_EQ(json::parse(published().json, {.max_bytes = size_t{4} << 20}).value(), document());
  EXPECT_EQ(published().etag.size(), 18u);
}

}  // namespace
}  // namespace atl::api::openapi
