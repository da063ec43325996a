#include "api/route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/text.h"
#include "json/describe.h"
#include "json/yaml.h"

namespace atl::api {
namespace {

using ::testing::IsEmpty;

std::string text_of(const boost::json::string& text) { return {text.data(), text.size()}; }

const json::Value& read_openapi() {
  static const auto document = [] {
    std::ifstream file(ATOLL_OPENAPI);
    std::stringstream text;
    text << file.rdbuf();
    return json::parse_yaml(text.str(), "openapi.yaml").value();
  }();
  return document.value();
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
            : read_openapi().at("components").at("parameters").at(name.substr(name.rfind('/') + 1));
    if (parameter.at("in").as_string() == "query") {
      names.insert(text_of(parameter.at("name").as_string()));
    }
  }
}

std::set<std::string> described() {
  std::set<std::string> lines;
  for (const auto& path : read_openapi().at("paths").as_object()) {
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

TEST(Routes, AreTheOnesThatOpenApiDescribes) {
  EXPECT_THAT(missing_from(described(), served()), IsEmpty()) << "not in docs/openapi.yaml";
  EXPECT_THAT(missing_from(served(), described()), IsEmpty()) << "not in routes.cc";
}

TEST(Routes, NeedWhatOpenApiSays) {
  for (const Route& route : all_routes()) {
    std::string method(net::to_string(route.method));
    for (char& c : method) c = static_cast<char>(std::tolower(c));
    const auto& operation =
        read_openapi().at("paths").at(route.pattern).as_object().at(method).as_object();

    EXPECT_EQ(text_of(operation.at("x-action").as_string()), json::name_of(route.action))
        << method << " " << route.pattern;
    EXPECT_EQ(route.action == Action::open, operation.contains("security"))
        << method << " " << route.pattern;
  }
}

class RouterTest : public ::testing::Test {
 protected:
  static Task<> nothing(Call&) { co_return Result<>(); }

  Router::Found find(net::Method method, std::string_view target) {
    net::Request request;
    request.method = method;
    EXPECT_TRUE(request.set_target(target));
    return router_.find(request);
  }

  static constexpr Route kRoutes[] = {
      {net::Method::get, "/a/{id}", Action::know, nothing},
      {net::Method::post, "/a/{id}", Action::know, nothing},
      {net::Method::get, "/a/{id}/log", Action::know, nothing, "", Answer::streams},
  };
  Router router_{kRoutes};
};

TEST_F(RouterTest, FindsByPathAndMethod) {
  EXPECT_EQ(find(net::Method::get, "/a/x").route, &kRoutes[0]);
  EXPECT_EQ(find(net::Method::post, "/a/x").route, &kRoutes[1]);
  EXPECT_EQ(find(net::Method::get, "/a/x/log").route, &kRoutes[2]);
  EXPECT_EQ(find(net::Method::get, "/a/%2Flog").route, &kRoutes[0]) << "a slash inside a segment";
}

TEST_F(RouterTest, APlaceholderIsNeverEmpty) {
  EXPECT_EQ(find(net::Method::get, "/a/").route, nullptr);
  EXPECT_EQ(find(net::Method::get, "/a//log").route, nullptr);
  EXPECT_EQ(find(net::Method::get, "/a").route, nullptr);
}

TEST_F(RouterTest, HeadIsForWholeAnswers) {
  EXPECT_EQ(find(net::Method::head, "/a/x").route, &kRoutes[0]);
  EXPECT_EQ(find(net::Method::head, "/a/x/log").route, nullptr);
  EXPECT_EQ(find(net::Method::head, "/a/x/log").allow, "GET");
  EXPECT_EQ(find(net::Method::put, "/a/x").allow, "GET, HEAD, POST");
}

}  // namespace
}  // namespace atl::api
