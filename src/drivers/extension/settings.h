// Settings of an extension: the part of JSON Schema that its manifest may use, and values by it.
//
//   type: object
//   required: [region]
//   properties:
//     region:  {type: string, enum: [eu, us], description: where it runs}
//     disk_mb: {type: integer, minimum: 16, maximum: 65536, default: 256}
//     token:   {type: string, maxLength: 200, writeOnly: true}
//
// A property is a string, an integer, a number or a boolean. What else JSON Schema knows is refused
// rather than ignored: a rule that nobody checks is none.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"

namespace atl::extension {

// Null = it has no settings.
Result<> check_schema(const json::Value& schema);

// The values with what they leave out, as the schema has it. Code::invalid_argument for one that is
// missing, unknown or against the rules; its path is in the message.
Result<json::Value> complete(const json::Value& schema, const json::Value& values);

// `name=value` as people write it, each by its type.
Result<json::Value> parse_settings(const json::Value& schema,
                                   const std::vector<std::string>& written);

// For people: what is writeOnly is blotted out.
json::Value without_secrets(const json::Value& schema, const json::Value& values);

}  // namespace atl::extension
