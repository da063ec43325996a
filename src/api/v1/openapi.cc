// GET /v1/openapi.json: the API, described by itself.
#include "api/openapi/document.h"
#include "api/v1/file_wire.h"
#include "api/v1/handlers.h"

namespace atl::api::v1 {

Task<> describe_api(Call& call) {
  const auto& document = openapi::published();
  const auto known = call.request().headers.find("If-None-Match");
  net::Response response;
  const bool is_known = known && names_tag(*known, document.etag);
  response.status = is_known ? 304 : 200;
  response.headers = call.headers(is_known ? "" : "application/json");
  response.headers.add("ETag", document.etag);
  if (!is_known) response.body = document.json;
  co_return co_await call.answer_with(std::move(response));
}

}  // namespace atl::api::v1
