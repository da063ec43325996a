// The document that describes the API: OpenAPI 3.1, as GET /v1/openapi.json serves it and
// docs/openapi.yaml shows it.
//
// What a request may say comes from the structs that it is decoded into, and who may ask from the
// routes. operations.yaml has the rest, by hand: prose, parameters and answers. A test holds its
// routes and parameters to routes.cc; tests/api/openapi_fuzz_test.py holds the answers to what is
// really answered.
#pragma once

#include <string>

#include "api/openapi/schemas.h"

namespace atl::api::openapi {

// Everything that requests are made of.
Schemas request_schemas();

json::Value make_document();

// As it is sent: made once, when it is first asked for.
struct Published {
  std::string json;
  std::string etag;  // with its quotes
};
const Published& published();

// operations.yaml as JSON; the build makes it.
std::string_view operations_json();

}  // namespace atl::api::openapi
