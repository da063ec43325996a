#include "json/encode_sparse.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace atl::json {
namespace {

enum class Colour : uint8_t { red, green };
BOOST_DESCRIBE_ENUM(Colour, red, green)

struct Part {
  std::string name;
  int64_t weight = 0;
};
BOOST_DESCRIBE_STRUCT(Part, (), (name, weight))

struct Inner {
  static constexpr auto kRequired = required();

  int64_t count = 3;
  bool is_on = false;
};
BOOST_DESCRIBE_STRUCT(Inner, (), (count, is_on))

struct Outer {
  static constexpr auto kRequired = required("id");

  std::string id;
  std::string text;
  Colour colour = Colour::green;
  std::optional<int64_t> maybe;
  std::vector<Part> parts;
  std::map<std::string, std::string> words;
  Inner inner;
};
BOOST_DESCRIBE_STRUCT(Outer, (), (id, text, colour, maybe, parts, words, inner))

TEST(EncodeSparse, SaysOnlyWhatIsRequiredOfANewObject) {
  EXPECT_EQ(encode_sparse(Outer{}), R"({"id":""})");
}

TEST(EncodeSparse, SaysWhatIsNotAsInANewObjectEvenIfItIsNothing) {
  Outer outer;
  outer.colour = Colour::red;
  outer.inner.count = 0;
  outer.maybe = 0;

  EXPECT_EQ(encode_sparse(outer), R"({"id":"","colour":"red","maybe":0,"inner":{"count":0}})");
}

TEST(EncodeSparse, ElementsAreWhole) {
  Outer outer;
  outer.parts.push_back({});

  EXPECT_EQ(encode_sparse(outer), R"({"id":"","parts":[{"name":"","weight":0}]})");
}

TEST(EncodeSparse, DecodeGivesTheSameBack) {
  Outer outer{.id = "a", .text = "b", .colour = Colour::red, .maybe = 7};
  outer.parts = {{"p", 2}};
  outer.words = {{"k", "v"}};
  outer.inner = {.count = 0, .is_on = true};

  const auto back = decode<Outer>(encode_sparse(outer));

  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(encode(*back), encode(outer));
  const auto usual = decode<Outer>(encode_sparse(Outer{}));
  ASSERT_TRUE(usual) << usual.error().message();
  EXPECT_EQ(encode(*usual), encode(Outer{}));
}

}  // namespace
}  // namespace atl::json
