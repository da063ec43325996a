#include "json/schema.h"

#include <gtest/gtest.h>

#include "json/encode.h"
#include "json/sample.h"

namespace atl::json {
namespace {

TEST(JsonSchema, RequiresWhatDecodingRequires) {
  EXPECT_EQ(
      encode(schema<sample::Mount>()),
      R"({"type":"object","properties":{"source":{"type":"string"},"target":{"type":"string"},)"
      R"("read_only":{"type":"boolean"}},"required":["source"],"additionalProperties":false})");
}

TEST(JsonSchema, ListsNamesAndRanges) {
  EXPECT_EQ(encode(schema<sample::Level>()),
            R"({"type":"string","enum":["none","process","vm","default"]})");
  EXPECT_EQ(encode(schema<std::optional<uint8_t>>()),
            R"({"type":"integer","minimum":0,"maximum":255})");
  EXPECT_EQ(encode(schema<int16_t>()), R"({"type":"integer","minimum":-32768,"maximum":32767})");
}

struct Named {
  static constexpr std::string_view kSchema = "Named";
  std::optional<uint64_t> count;
};
BOOST_DESCRIBE_STRUCT(Named, (), (count))

struct Holder {
  Named one;
  std::vector<Named> many;
};
BOOST_DESCRIBE_STRUCT(Holder, (), (one, many))

TEST(JsonSchema, RefersToWhatHasAName) {
  EXPECT_EQ(encode(schema<Holder>().at("properties")),
            R"({"one":{"$ref":"#/components/schemas/Named"},)"
            R"("many":{"type":"array","items":{"$ref":"#/components/schemas/Named"}}})");
  EXPECT_EQ(encode(schema<Named>().at("properties")),
            R"({"count":{"type":"integer","minimum":0}})");
}

TEST(JsonSchema, DescribesNestedMembers) {
  const Value spec = schema<sample::Spec>();

  const auto& properties = spec.at("properties").as_object();
  EXPECT_EQ(encode(spec.at("required")), R"(["name","argv"])");
  EXPECT_EQ(encode(properties.at("argv")), R"({"type":"array","items":{"type":"string"}})");
  EXPECT_EQ(encode(properties.at("labels")),
            R"({"type":"object","additionalProperties":{"type":"string"}})");
  EXPECT_EQ(encode(properties.at("mounts").at("items")), encode(schema<sample::Mount>()));
  EXPECT_EQ(encode(properties.at("extra")), "{}");
  EXPECT_FALSE(properties.at("resources").as_object().contains("required"));
}

}  // namespace
}  // namespace atl::json
