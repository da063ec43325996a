#include "json/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "json/encode.h"
#include "json/sample.h"

namespace atl::json {
namespace {

using sample::Spec;
using testing::HasSubstr;
using testing::StartsWith;

std::string as_json(std::string_view yaml) {
  const auto document = parse_yaml(yaml, "f.yaml");
  return document ? encode(document->value()) : document.error().message();
}

template <typename T = Spec>
std::string problem_of(std::string_view yaml) {
  const auto value = decode_yaml<T>(yaml, "atoll.yaml");
  return value ? "(no error)" : value.error().message();
}

TEST(Yaml, BecomesTheSameTreeAsJson) {
  EXPECT_EQ(as_json("a: 1\nb:\n  - x\n  - {c: [true, null, ~, 1.5]}\nd: |\n  two\n  lines\n"),
            R"({"a":1,"b":["x",{"c":[true,null,null,1.5]}],"d":"two\nlines\n"})");
  EXPECT_EQ(as_json(R"({"json": ["is", "yaml", 5.0, -7]})"), R"({"json":["is","yaml",5,-7]})");
}

TEST(Yaml, ReadsWordsByTheCoreSchema) {
  EXPECT_EQ(as_json("[yes, no, on, NO, True, 'true', \"1\", !!str 1]"),
            R"(["yes","no","on","NO",true,"true","1","1"])");
  EXPECT_EQ(
      as_json("[0x1F, 0o17, +3, -4, 1e3, .5, 1.2.3, 1_000, 2026-11-15, 12:30, -, "
              "18446744073709551615]"),
      R"([31,15,3,-4,1000,0.5,"1.2.3","1_000","2026-11-15","12:30","-",18446744073709551615])");
  EXPECT_THAT(as_json("a: 0755"), HasSubstr("f.yaml:1: \"0755\" is ambiguous"));
  EXPECT_THAT(as_json("a:\n  .inf"), HasSubstr("f.yaml:2: expected a finite number"));
}

TEST(Yaml, TakesAnEmptyFileForAnEmptyObject) {
  EXPECT_EQ(as_json(""), "{}");
  EXPECT_EQ(as_json("# only a comment\n"), "{}");
  EXPECT_EQ(as_json("---\n"), "{}");
}

TEST(Yaml, NamesFileLineAndPath) {
  EXPECT_EQ(problem_of("name: n\nargv: [a]\nresources:\n  cpu: 1\n\n  # why\n  memory_mb: lots\n"),
            "atoll.yaml:7: resources.memory_mb: expected an integer, got a string");
  EXPECT_EQ(problem_of("name: n\nargv:\n  - a\n  - [b]\n"),
            "atoll.yaml:4: argv[1]: expected a string, got an array");
  EXPECT_EQ(problem_of("name: n\nargv: []\nresuorces:\n  cpu: 1\n"),
            "atoll.yaml:3: resuorces: unknown field (did you mean resources?)");
  EXPECT_EQ(problem_of("name: n\nargv: []\nlabels:\n  a: x\n  'b c': 3\n"),
            "atoll.yaml:5: labels[\"b c\"]: expected a string, got an integer");
}

TEST(Yaml, PlacesAMissingFieldAtWhatShouldHoldIt) {
  EXPECT_EQ(problem_of("name: n\nargv: []\nmounts:\n  - source: /a\n  - target: /b\n"),
            "atoll.yaml:5: mounts[1].source: missing");
}

TEST(Yaml, FindsLinesByPath) {
  const auto document = parse_yaml("a:\n  ab: 1\n  b:\n    - 1\n    - x: 2\nab: 3\n", "f.yaml");

  ASSERT_TRUE(document.has_value());
  EXPECT_EQ(document->line_of("a"), 1);
  EXPECT_EQ(document->line_of("a.ab"), 2);
  EXPECT_EQ(document->line_of("a.b[1].x"), 5);
  EXPECT_EQ(document->line_of("a.b[7]"), 3);
  EXPECT_EQ(document->line_of("ab"), 6);
  EXPECT_EQ(document->line_of(""), 1);
  EXPECT_EQ(document->line_of("nowhere.at.all"), 1);
}

TEST(Yaml, DecodesWhatIsRight) {
  const auto spec = decode_yaml<Spec>("name: n\nargv: [echo, hi]\nlevel: vm\ndefault:\n", "f.yaml");

  ASSERT_TRUE(spec.has_value()) << spec.error().message();
  EXPECT_EQ(spec->level, sample::Level::vm);
  EXPECT_FALSE(spec->default_.has_value());
}

TEST(Yaml, RefusesDuplicateKeys) {
  EXPECT_EQ(as_json("a:\n  b: 1\n  c: 2\n  b: 3\n"), "f.yaml:4: a.b: given twice");
  EXPECT_EQ(as_json("- {x: 1}\n- {x: 1, x: 2}\n"), "f.yaml:2: [1].x: given twice");
}

TEST(Yaml, CopiesAliases) {
  EXPECT_EQ(as_json("a: &x {k: [1]}\nb: *x\nc: &s text\nd: *s\n"),
            R"({"a":{"k":[1]},"b":{"k":[1]},"c":"text","d":"text"})");
}

TEST(Yaml, RefusesAliasesThatExpandWithoutEnd) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 0; k < 9; ++k) bomb += ", " + before;
    bomb += "]\n";
  }
  const std::string fat = "a: &a " + std::string(500'000, 'x') + "\nb: [" + [] {
    std::string many = "*a";
    for (int i = 0; i < 1000; ++i) many += ", *a";
    return many;
  }() + "]\n";

  EXPECT_THAT(as_json(bomb), HasSubstr("too large"));
  EXPECT_THAT(as_json(fat), HasSubstr("too large"));
  EXPECT_THAT(as_json("&a [*a]"), HasSubstr("inside what it names"));
}

TEST(Yaml, CountsTheDepthOfAliases) {
  std::string deep = "a0: &a0 [x]\n";
  for (int i = 1; i < 40; ++i) {
    deep += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) +
            "]\n";
  }

  EXPECT_THAT(as_json(deep), HasSubstr("32 levels"));
}

TEST(Yaml, HoldsItsLimits) {
  const auto too_large = parse_yaml(std::string((1 << 20) + 1, '#'), "f.yaml");

  ASSERT_FALSE(too_large.has_value());
  EXPECT_EQ(too_large.error().code(), Code::too_large);
  EXPECT_THAT(as_json(std::string(33, '[') + std::string(33, ']')), HasSubstr("32 levels"));
  EXPECT_THAT(as_json(std::string(100'000, '[')), StartsWith("f.yaml:1: "));
}

TEST(Yaml, RefusesWhatJsonCannotHold) {
  EXPECT_THAT(as_json("? [a]\n: 1\n"), HasSubstr("key must be text"));
  EXPECT_THAT(as_json("~: 1\n"), testing::AnyOf(HasSubstr("key must be text"), HasSubstr("\"~\"")));
  EXPECT_THAT(as_json("a: [1, 2\nb: 3\n"), HasSubstr("a { or [ is opened and not closed"));
  EXPECT_THAT(as_json("{"), HasSubstr("is a { or [ opened and not closed?"));
  EXPECT_THAT(as_json("a: !!binary aGk=\n"), HasSubstr("tag"));
  EXPECT_THAT(as_json("a: !mine {}\n"), HasSubstr("tag"));
  EXPECT_THAT(as_json("a: &x {}\nb:\n  <<: *x\n"), StartsWith("f.yaml:3: merge keys"));
  EXPECT_THAT(as_json("a: 1\n---\nb: 2\n"), HasSubstr("more than one document"));
  EXPECT_THAT(as_json("a: \"\x01\"\n"), StartsWith("f.yaml:1: a control character"));
  EXPECT_THAT(as_json("a: \xFF\n"), HasSubstr("malformed UTF-8"));
}

TEST(Yaml, SaysWhereTheSyntaxBreaks) {
  EXPECT_THAT(as_json("a: 1\nb: [1, 2\nc: 3\n"), StartsWith("f.yaml:"));
  EXPECT_THAT(as_json("a: 1\n\tb: 2\n"), StartsWith("f.yaml:2: "));
  EXPECT_THAT(as_json("a: *nowhere\n"), StartsWith("f.yaml:1: "));
}

TEST(Yaml, KnowsColumnsToo) {
  const auto document = parse_yaml("a:\n  b: {c: 1}\n  d: [x, y]\n", "f.yaml");

  ASSERT_TRUE(document);
  const auto& a = document->lines().children[0];
  EXPECT_EQ(a.column, 1);
  EXPECT_EQ(a.children[0].column, 3);
  EXPECT_EQ(a.children[0].children[0].column, 7);
  EXPECT_EQ(a.children[1].children[1].number, 3);
  EXPECT_EQ(a.children[1].children[1].column, 10);
}

}  // namespace
}  // namespace atl::json
