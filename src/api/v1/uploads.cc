// Large files in parts: PUT …/files?upload=ID&offset=N&size=TOTAL, and how much of one is there.
//
// What has come lies in the sandbox, beside the file that it is to become, so it survives the
// connection, the client and this daemon. The client names its upload, asks where it stands, and
// sends on from there; the part that completes it puts the file in place.
#include <algorithm>

#include "api/object_writer.h"
#include "api/parameters.h"
#include "api/v1/file_wire.h"
#include "api/v1/handlers.h"

namespace atl::api::v1 {
namespace {

constexpr size_t kPiece = 256 * 1024;
constexpr size_t kLongestUpload = 64;

Error invalid(std::string_view field, std::string_view problem) {
  return Error(Code::invalid_argument, std::string(field) + ": " + std::string(problem))
      .at_stage("request");
}

Result<std::string> read_upload(const net::Query& query) {
  std::string name(query.find("upload").value_or(""));
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (name.empty() || name.size() > kLongestUpload || !std::ranges::all_of(name, is_plain))
    return invalid("upload", "1 to 64 lower-case letters and digits")
        .with_hint("choose one at random for each upload, and keep it until it is done");
  return name;
}

Task<> answer_offset(Call& call, std::string upload, uint64_t offset, int status) {
  std::string json;
  ObjectWriter object(json);
  object.member("upload", upload);
  object.member("offset", offset);
  object.close();
  co_return co_await call.answer(status, std::move(json));
}

}  // namespace

Task<> upload_status(Call& call) {
  CO_TRY(auto path, read_needed_path(call.request().query));
  CO_TRY(auto upload, read_upload(call.request().query));
  CO_TRY(const auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  CO_TRY(const auto offset, co_await lease->uploaded(std::move(path), upload));
  co_return co_await answer_offset(call, std::move(upload), offset, 200);
}

Task<> resume_upload(Call& call, std::string path) {
  const auto& query = call.request().query;
  const uint64_t most = call.options().most_upload_bytes;
  ResumableWrite request;
  request.path = path;
  CO_TRY(request.upload, read_upload(query));
  CO_TRY(request.mode, read_mode(query.find("mode")));
  CO_TRY(const auto parents, read_flag(query, "parents"));
  if (!parents.value_or(true)) request.parents = Parents::must_exist;
  CO_TRY(const auto offset, read_number(query, "offset", most));
  CO_TRY(const auto size, read_number(query, "size", most));
  if (!offset || !size) co_return invalid(offset ? "size" : "offset", "missing");
  if (*offset > *size) co_return invalid("offset", "it lies behind the size");
  const Error too_much = invalid("size", "more comes than it says");
  if (call.exchange().declared_body_size().value_or(0) > *size - *offset) co_return too_much;
  request.offset = *offset;

  CO_TRY(const auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  const std::string condition(call.request().headers.get("If-Match"));
  CO_TRY(auto before, co_await find_mismatch(*lease, path, condition));
  if (!before.empty()) co_return co_await answer_mismatch(call, std::move(before));
  std::string upload = request.upload;
  CO_TRY(const auto writer, co_await lease->resume_write(std::move(request)));
  std::string buffer(kPiece, '\0');
  uint64_t at = *offset;
  for (;;) {
    CO_TRY(const size_t got, co_await call.exchange().read_body_some(buffer.data(), kPiece));
    if (got == 0) break;
    if (got > *size - at) co_return too_much;
    CO_TRY_OK(co_await writer->write(buffer.substr(0, got)));
    at += got;
  }
  if (at < *size) co_return co_await answer_offset(call, std::move(upload), at, 202);
  CO_TRY(auto now, co_await find_mismatch(*lease, path, condition));
  if (!now.empty()) co_return co_await answer_mismatch(call, std::move(now));
  CO_TRY(const auto info, co_await writer->commit());
  co_return co_await answer_info(call, info);
}

}  // namespace atl::api::v1
