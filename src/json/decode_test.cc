#include "json/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "json/encode.h"
#include "json/sample.h"

namespace atl::json {
namespace {

using sample::Level;
using sample::Mount;
using sample::Resources;
using sample::Spec;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

template <typename T = Spec>
std::string problem_of(std::string_view text) {
  const auto value = decode<T>(text);
  if (value) return "(no error)";
  EXPECT_EQ(value.error().code(), Code::invalid_argument);
  return value.error().message();
}

// A Spec with one more member, so that each test shows just what it is about.
std::string spec_with(std::string_view member) {
  return R"({"name":"n","argv":["a"],)" + std::string(member) + "}";
}

template <typename T>
struct Box {
  T v{};
  BOOST_DESCRIBE_CLASS(Box, (), (v), (), ())
};

TEST(JsonDecode, FillsEveryKindOfMember) {
  const auto spec = decode<Spec>(R"({
    "name": "box", "argv": ["echo", "hé"], "level": "vm",
    "resources": {"cpu": 1.5, "memory_mb": 256, "nice": -5},
    "mounts": [{"source": "/a"}, {"source": "/b", "target": "/c", "read_only": false}],
    "labels": {"team": "x"}, "tables": {"t": [1, -128]}, "default": true,
    "big": 18446744073709551615, "offset": -9223372036854775808, "extra": {"any": [null]}})");

  ASSERT_TRUE(spec.has_value()) << spec.error().message();
  EXPECT_EQ(spec->name, "box");
  EXPECT_THAT(spec->argv, ElementsAre("echo", "hé"));
  EXPECT_EQ(spec->level, Level::vm);
  EXPECT_EQ(spec->resources->cpu, 1.5);
  EXPECT_EQ(spec->resources->memory_mb, 256u);
  EXPECT_EQ(spec->resources->nice, -5);
  ASSERT_EQ(spec->mounts->size(), 2u);
  EXPECT_EQ(spec->mounts->at(0).target, "/workspace");
  EXPECT_FALSE(spec->mounts->at(1).read_only);
  EXPECT_THAT(*spec->labels, ElementsAre(Pair("team", "x")));
  EXPECT_THAT(spec->tables->at("t"), ElementsAre(1, -128));
  EXPECT_EQ(spec->default_, true);
  EXPECT_EQ(spec->big, UINT64_MAX);
  EXPECT_EQ(spec->offset, INT64_MIN);
  EXPECT_EQ(encode(*spec->extra), R"({"any":[null]})");
}

TEST(JsonDecode, LeavesAbsentAndNullOptionalsEmpty) {
  const auto spec = decode<Spec>(R"({"name":"n","argv":[],"level":null})");

  ASSERT_TRUE(spec.has_value());
  EXPECT_FALSE(spec->level.has_value());
  EXPECT_FALSE(spec->resources.has_value());
  EXPECT_THAT(spec->argv, IsEmpty());
}

TEST(JsonDecode, RequiresWhatIsNotOptional) {
  EXPECT_EQ(problem_of(R"({"name":"n"})"), "argv: missing");
  EXPECT_EQ(problem_of(R"({"argv":[]})"), "name: missing");
  EXPECT_EQ(problem_of(R"({"name":null,"argv":[]})"), "name: expected a string, got null");
}

TEST(JsonDecode, KeepsDefaultsOfMembersThatAreNotListedAsRequired) {
  const auto mount = decode<Mount>(R"({"source":"/a","read_only":null})");

  ASSERT_TRUE(mount.has_value());
  EXPECT_EQ(mount->target, "/workspace");
  EXPECT_TRUE(mount->read_only);
  EXPECT_EQ(problem_of<Mount>("{}"), "source: missing");
  EXPECT_TRUE(decode<Resources>("{}").has_value());
}

TEST(JsonDecode, NamesThePathOfAWrongType) {
  EXPECT_EQ(problem_of(spec_with(R"("resources":{"memory_mb":"x"})")),
            "resources.memory_mb: expected an integer, got a string");
  EXPECT_EQ(problem_of(R"({"name":"n","argv":["a","b",3]})"),
            "argv[2]: expected a string, got an integer");
  EXPECT_EQ(problem_of(spec_with(R"("mounts":[{"source":"a"},{"source":[]}])")),
            "mounts[1].source: expected a string, got an array");
  EXPECT_EQ(problem_of(spec_with(R"("labels":{"team":{}})")),
            "labels.team: expected a string, got an object");
  EXPECT_EQ(problem_of(spec_with(R"("default":1)")),
            "default: expected true or false, got an integer");
  EXPECT_EQ(problem_of("[]"), "expected an object, got an array");
  EXPECT_EQ(problem_of(spec_with(R"("mounts":{})")), "mounts: expected an array, got an object");
}

TEST(JsonDecode, SuggestsTheFieldThatWasMeant) {
  const auto typo = decode<Spec>(spec_with(R"("resources":{"memroy_mb":1})"));

  ASSERT_FALSE(typo.has_value());
  EXPECT_EQ(typo.error().message(), "resources.memroy_mb: unknown field (did you mean memory_mb?)");
  EXPECT_EQ(typo.error().hint(), "known fields: cpu, memory_mb, nice");
  EXPECT_EQ(problem_of(spec_with(R"("wibblewobble":1)")), "wibblewobble: unknown field");
}

TEST(JsonDecode, ReportsATypoBeforeTheMissingField) {
  EXPECT_EQ(problem_of(R"({"name":"n","argvv":[]})"), "argvv: unknown field (did you mean argv?)");
}

TEST(JsonDecode, EscapesAndCutsKeysInPaths) {
  EXPECT_EQ(problem_of(spec_with(R"("labels":{"a b\n\u001b[31m":1})")),
            R"(labels["a b\n\u001b[31m"]: expected a string, got an integer)");
  EXPECT_LT(problem_of(spec_with("\"" + std::string(100'000, 'k') + "\":1")).size(), 200u);
}

TEST(JsonDecode, ChecksTheRangeOfEveryIntegerWidth) {
  EXPECT_EQ(decode<Box<int8_t>>(R"({"v":-128})")->v, -128);
  EXPECT_EQ(problem_of<Box<int8_t>>(R"({"v":128})"), "v: must be from -128 to 127, got 128");
  EXPECT_EQ(decode<Box<uint8_t>>(R"({"v":255})")->v, 255);
  EXPECT_EQ(problem_of<Box<uint8_t>>(R"({"v":-1})"), "v: must be from 0 to 255, got -1");
  EXPECT_EQ(decode<Box<uint16_t>>(R"({"v":65535})")->v, 65535);
  EXPECT_THAT(problem_of<Box<int32_t>>(R"({"v":2147483648})"), HasSubstr("2147483647"));
  EXPECT_EQ(decode<Box<int64_t>>(R"({"v":9223372036854775807})")->v, INT64_MAX);
  EXPECT_THAT(problem_of<Box<int64_t>>(R"({"v":9223372036854775808})"),
              HasSubstr("too large a number"));
  EXPECT_EQ(problem_of<Box<int64_t>>(R"({"v":1e30})"), "v: 1e+30 is too large a number");
  EXPECT_EQ(problem_of<Box<int64_t>>(R"({"v":-1e30})"), "v: -1e+30 is too small a number");
  EXPECT_THAT(problem_of<Box<uint64_t>>(R"({"v":18446744073709551616})"),
              HasSubstr("too large a number"));
}

TEST(JsonDecode, TakesAFractionForAnIntegerOnlyIfItIsWhole) {
  EXPECT_EQ(decode<Box<int>>(R"({"v":5.0})")->v, 5);
  EXPECT_EQ(decode<Box<int>>(R"({"v":-1e3})")->v, -1000);
  EXPECT_EQ(decode<Box<uint32_t>>(R"({"v":2e2})")->v, 200u);
  EXPECT_EQ(problem_of<Box<int>>(R"({"v":5.5})"), "v: expected an integer, got a fraction");
  EXPECT_EQ(problem_of<Box<uint32_t>>(R"({"v":-2.0})"), "v: must be from 0 to 4294967295, got -2");
  EXPECT_EQ(problem_of<Box<int64_t>>(R"({"v":1e30})"), "v: 1e+30 is too large a number");
}

TEST(JsonDecode, TakesAnyNumberForADouble) {
  EXPECT_EQ(decode<Box<double>>(R"({"v":3})")->v, 3.0);
  EXPECT_EQ(decode<Box<double>>(R"({"v":18446744073709551615})")->v, 18446744073709551615.0);
  EXPECT_EQ(problem_of<Box<double>>(R"({"v":"3"})"), "v: expected a number, got a string");
}

TEST(JsonDecode, ListsTheNamesOfAnEnum) {
  EXPECT_EQ(problem_of(spec_with(R"("level":"vmm")")),
            R"(level: expected one of none, process, vm, default, got "vmm" (did you mean vm?))");
  EXPECT_EQ(problem_of(spec_with(R"("level":2)")),
            "level: expected one of none, process, vm, default, got an integer");
  EXPECT_EQ(decode<Spec>(spec_with(R"("level":"default")"))->level, Level::default_);
}

TEST(JsonDecode, SaysThatABodyIsTooLarge) {
  const auto spec = decode<Spec>(std::string((1 << 20) + 1, ' '));

  ASSERT_FALSE(spec.has_value());
  EXPECT_EQ(spec.error().code(), Code::too_large);
}

TEST(JsonDecode, KeepsPassedThroughValuesAliveAfterTheText) {
  std::string text =
      spec_with(R"("extra":["a long string that fits into no small buffer at all"])");
  const auto spec = decode<Spec>(text);
  text.assign(text.size(), 'x');

  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(encode(*spec->extra), R"(["a long string that fits into no small buffer at all"])");
}

TEST(JsonDecode, ReadsAValueThatIsParsedAlready) {
  const Value value{{"source", "/x"}};

  const auto mount = decode_value<Mount>(value);

  ASSERT_TRUE(mount.has_value());
  EXPECT_EQ(mount->source, "/x");
}

}  // namespace
}  // namespace atl::json
