// /v1/sandboxes/{id}/files: raw bytes in and out, a piece at a time.
#include <fmt/core.h>

#include "api/body.h"
#include "api/object_writer.h"
#include "api/openapi/requests.h"
#include "api/parameters.h"
#include "api/range.h"
#include "api/v1/file_wire.h"
#include "api/v1/handlers.h"

namespace atl::api::v1 {
namespace {

constexpr size_t kPiece = 256 * 1024;
constexpr size_t kMostListed = 10'000;
constexpr std::string_view kBytes = "application/octet-stream";

struct WireMkdir {
  static constexpr std::string_view kSchema = "MakeDirectory";
  std::optional<std::string> path, path_b64;
  std::optional<bool> parents;
};
BOOST_DESCRIBE_STRUCT(WireMkdir, (), (path, path_b64, parents))

struct WireMove {
  static constexpr std::string_view kSchema = "MoveFile";
  std::optional<std::string> from, from_b64, to, to_b64;
};
BOOST_DESCRIBE_STRUCT(WireMove, (), (from, from_b64, to, to_b64))

struct WireRemove {
  static constexpr std::string_view kSchema = "RemoveFile";
  std::optional<std::string> path, path_b64;
  std::optional<bool> recursive;
};
BOOST_DESCRIBE_STRUCT(WireRemove, (), (path, path_b64, recursive))

constexpr openapi::Field kMkdirFields[] = {
    {"path", "", {.least = 1}},
    {"path_b64", openapi::kInsteadOfPath, {}, openapi::kBase64},
    {"parents", "Make missing parents; existing is fine then.", {}, R"({"default":true})"},
};
constexpr openapi::Field kMoveFields[] = {
    {"from", "", {.least = 1}},
    {"from_b64", "Instead of `from`.", {}, openapi::kBase64},
    {"to", "", {.least = 1}},
    {"to_b64", "Instead of `to`.", {}, openapi::kBase64},
};
constexpr openapi::Field kRemoveFields[] = {
    {"path", "", {.least = 1}},
    {"path_b64", openapi::kInsteadOfPath, {}, openapi::kBase64},
    {"recursive", "", {}, R"({"default":false})"},
};

Error invalid(std::string_view field, std::string_view problem) {
  return Error(Code::invalid_argument, std::string(field) + ": " + std::string(problem))
      .at_stage("request");
}

Task<> send_range(Call& call, FileReader& reader, ByteRange range) {
  while (range.length > 0) {
    const size_t most = static_cast<size_t>(std::min<uint64_t>(range.length, kPiece));
    CO_TRY(auto piece, co_await reader.read(range.first, most));
    // The file became shorter under the reader: ending short tells the client that this is not all.
    if (piece.empty()) co_return Error(Code::conflict, "the file changed while it was read");
    if (piece.size() > most) piece.resize(most);
    CO_TRY_OK(co_await call.exchange().write(piece));
    range.first += piece.size();
    range.length -= piece.size();
  }
  co_return co_await call.exchange().end();
}

// Files of /proc say that they are empty and are not.
Task<> send_unsized(Call& call, FileReader& reader, std::string piece) {
  CO_TRY_OK(co_await call.begin(call.headers(kBytes)));
  for (uint64_t offset = 0; !piece.empty();) {
    CO_TRY_OK(co_await call.exchange().write(piece));
    offset += piece.size();
    CO_TRY(piece, co_await reader.read(offset, kPiece));
  }
  co_return co_await call.exchange().end();
}

Task<> tell_unchanged(Call& call, std::string tag) {
  net::Response response;
  response.status = 304;
  response.headers = call.headers({});
  response.headers.add("ETag", tag);
  co_return co_await call.answer_with(std::move(response));
}

Task<> refuse_range(Call& call, uint64_t size) {
  Error error(Code::invalid_argument,
              "Range: it begins after the end of a file of " + std::to_string(size) + " bytes");
  auto response = make_problem_response(
      Problem(416, "range_not_satisfiable", std::move(error).at_stage("request")), call.ids());
  response.headers.add("Content-Range", "bytes */" + std::to_string(size));
  co_return co_await call.answer_with(std::move(response));
}

}  // namespace

void describe_file_requests(openapi::Schemas& schemas) {
  schemas.add<WireMkdir, kMkdirFields>(openapi::kOnePath);
  schemas.add<WireMove, kMoveFields>(
      R"({"allOf":[{"oneOf":[{"required":["from"]},{"required":["from_b64"]}]},{"oneOf":[{"required":["to"]},{"required":["to_b64"]}]}]})");
  schemas.add<WireRemove, kRemoveFields>(openapi::kOnePath);
}

Task<> read_file(Call& call) {
  CO_TRY(auto path, read_needed_path(call.request().query));
  CO_TRY(const auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  call.begin_operation(lease, "read_file");
  CO_TRY(const auto reader, co_await lease->open_read(std::move(path)));
  const uint64_t size = reader->size();
  if (size == 0) {
    CO_TRY(auto piece, co_await reader->read(0, kPiece));
    if (!piece.empty()) co_return co_await send_unsized(call, *reader, std::move(piece));
  }
  const auto& asked = call.request().headers;
  const std::string tag = etag_of(reader->version());
  if (!tag.empty() && names_tag(asked.get("If-None-Match"), tag))
    co_return co_await tell_unchanged(call, tag);
  // Whoever has a part of another version, or of one that we cannot tell, gets everything.
  const auto condition = asked.find("If-Range");
  const bool holds = !condition || (!tag.empty() && *condition == tag);
  const auto choice = choose_range(holds ? asked.find("Range") : std::nullopt, size);
  if (choice.kind == RangeKind::unsatisfiable) co_return co_await refuse_range(call, size);

  net::Headers headers = call.headers(kBytes);
  headers.add("Accept-Ranges", "bytes");
  if (!tag.empty()) headers.add("ETag", tag);
  const ByteRange range = choice.range;
  const bool part = choice.kind == RangeKind::part;
  if (part) {
    headers.add("Content-Range",
                fmt::format("bytes {}-{}/{}", range.first, range.first + range.length - 1, size));
  }
  CO_TRY_OK(co_await call.begin_sized(part ? 206 : 200, std::move(headers), range.length));
  if (call.request().method == net::Method::head) co_return co_await call.exchange().end();
  co_return co_await send_range(call, *reader, range);
}

Task<> write_file(Call& call) {
  const auto& query = call.request().query;
  CO_TRY(auto path, read_needed_path(query));
  if (query.contains("upload")) co_return co_await resume_upload(call, std::move(path));
  CO_TRY(const auto mode, read_mode(query.find("mode")));
  CO_TRY(const auto parents, read_flag(query, "parents"));
  if (query.contains("offset") || query.contains("size"))
    co_return invalid("upload", "missing").with_hint("a write in parts has a name: &upload=ID");
  if (call.request().headers.contains("Content-Range")) {
    co_return invalid("Content-Range", "a file is always written whole")
        .with_hint("in parts: ?upload=ID&offset=0&size=BYTES");
  }
  const uint64_t most = call.options().most_upload_bytes;
  const Error too_large(Code::too_large,
                        "a file has at most " + std::to_string(most) + " bytes here");
  if (call.exchange().declared_body_size().value_or(0) > most) co_return too_large;

  CO_TRY(const auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  call.begin_operation(lease, "write_file");
  const std::string condition(call.request().headers.get("If-Match"));
  CO_TRY(auto before, co_await find_mismatch(*lease, path, condition));
  if (!before.empty()) co_return co_await answer_mismatch(call, std::move(before));
  const auto how = parents.value_or(true) ? Parents::create : Parents::must_exist;
  CO_TRY(const auto writer, co_await lease->open_write(path, mode, how));
  std::string buffer(kPiece, '\0');
  uint64_t total = 0;
  for (;;) {
    CO_TRY(const size_t got, co_await call.exchange().read_body_some(buffer.data(), kPiece));
    if (got == 0) break;
    total += got;
    if (total > most) co_return too_large;
    CO_TRY_OK(co_await writer->write(buffer.substr(0, got)));
  }
  CO_TRY(auto now, co_await find_mismatch(*lease, path, condition));
  if (!now.empty()) co_return co_await answer_mismatch(call, std::move(now));
  CO_TRY(const auto info, co_await writer->commit());
  co_return co_await answer_info(call, info);
}

Task<> delete_file(Call& call) {
  CO_TRY(auto path, read_needed_path(call.request().query));
  CO_TRY(const auto recursive, read_flag(call.request().query, "recursive"));
  CO_TRY(const auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  call.begin_operation(lease, "remove_file");
  const auto how = recursive.value_or(false) ? Recursive::yes : Recursive::no;
  CO_TRY_OK(co_await lease->remove(std::move(path), how));
  co_return co_await call.answer_nothing();
}

Task<> list_files(Call& call) {
  CO_TRY(auto given, read_path(call.request().query));
  const std::string path = std::move(given).value_or(".");
  CO_TRY(const auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  call.begin_operation(lease, "list_files");
  CO_TRY(const auto infos, co_await lease->list(path, kMostListed));
  std::string json;
  ObjectWriter object(json);
  object.bytes("path", path);
  object.key("entries") += '[';
  for (const auto& info : infos) {
    if (json.back() != '[') json += ',';
    append_info(json, info);
  }
  json += ']';
  object.close();
  co_return co_await call.answer(200, std::move(json));
}

Task<> stat_file(Call& call) {
  CO_TRY(auto path, read_path(call.request().query));
  CO_TRY(const auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  call.begin_operation(lease, "stat_file");
  CO_TRY(const auto info, co_await lease->stat(std::move(path).value_or(".")));
  co_return co_await answer_info(call, info);
}

Task<> make_directory(Call& call) {
  CO_TRY(auto wire, co_await read_json<WireMkdir>(call, kMostJson));
  CO_TRY(auto path, pick_path("path", std::move(wire.path), std::move(wire.path_b64)));
  CO_TRY(const auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  call.begin_operation(lease, "make_directory");
  const auto how = wire.parents.value_or(true) ? Parents::create : Parents::must_exist;
  CO_TRY_OK(co_await lease->mkdir(std::move(path), how));
  co_return co_await call.answer_nothing();
}

Task<> move_file(Call& call) {
  CO_TRY(auto wire, co_await read_json<WireMove>(call, kMostJson));
  CO_TRY(auto from, pick_path("from", std::move(wire.from), std::move(wire.from_b64)));
  CO_TRY(auto to, pick_path("to", std::move(wire.to), std::move(wire.to_b64)));
  CO_TRY(const auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  call.begin_operation(lease, "move_file");
  CO_TRY_OK(co_await lease->move(std::move(from), std::move(to)));
  co_return co_await call.answer_nothing();
}

Task<> remove_file(Call& call) {
  CO_TRY(auto wire, co_await read_json<WireRemove>(call, kMostJson));
  CO_TRY(auto path, pick_path("path", std::move(wire.path), std::move(wire.path_b64)));
  CO_TRY(const auto lease, co_await call.engine().use(call.caller(), call.sandbox()));
  call.begin_operation(lease, "remove_file");
  const auto how = wire.recursive.value_or(false) ? Recursive::yes : Recursive::no;
  CO_TRY_OK(co_await lease->remove(std::move(path), how));
  co_return co_await call.answer_nothing();
}

}  // namespace atl::api::v1
