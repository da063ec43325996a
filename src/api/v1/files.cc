// /v1/sandboxes/{id}/files: raw bytes in and out, a piece at a time.
#include <fmt/core.h>

#include "api/body.h"
#include "api/object_writer.h"
#include "api/parameters.h"
#include "api/range.h"
#include "api/v1/handlers.h"
#include "json/path.h"

namespace atl::api::v1 {
namespace {

constexpr size_t kPiece = 256 * 1024;
constexpr size_t kMostListed = 10'000;
constexpr std::string_view kBytes = "application/octet-stream";

struct WireMkdir {
  std::optional<std::string> path, path_b64;
  std::optional<bool> parents;
};
BOOST_DESCRIBE_STRUCT(WireMkdir, (), (path, path_b64, parents))

struct WireMove {
  std::optional<std::string> from, from_b64, to, to_b64;
};
BOOST_DESCRIBE_STRUCT(WireMove, (), (from, from_b64, to, to_b64))

struct WireRemove {
  std::optional<std::string> path, path_b64;
  std::optional<bool> recursive;
};
BOOST_DESCRIBE_STRUCT(WireRemove, (), (path, path_b64, recursive))

Error invalid(std::string_view field, std::string_view problem) {
  return Error(Code::invalid_argument, std::string(field) + ": " + std::string(problem))
      .at_stage("request");
}

Result<std::string> pick_path(std::string_view field, std::optional<std::string> plain,
                              std::optional<std::string> encoded) {
  if (plain.has_value() == encoded.has_value()) {
    return invalid(field, plain ? "give it either as text or as base64" : "missing");
  }
  if (encoded) {
    auto bytes = from_base64(*encoded);
    if (!bytes) return invalid(std::string(field) + "_b64", "it is not base64");
    plain = *std::move(bytes);
  }
  TRY_OK(check_path(field, *plain));
  return *std::move(plain);
}

Result<uint32_t> read_mode(const net::Query& query) {
  constexpr uint32_t kDefault = 0644;
  const auto text = query.find("mode");
  if (!text) return kDefault;
  const bool octal = !text->empty() && text->size() <= 5 &&
                     text->find_first_not_of("01234567") == std::string_view::npos;
  uint32_t mode = 0;
  for (const char digit : octal ? *text : std::string_view()) {
    mode = mode * 8 + static_cast<uint32_t>(digit - '0');
  }
  if (!octal || mode > 0777) {
    return invalid("mode", json::quote(*text) + " is no octal number from 0 to 777")
        .with_hint("write mode=0755; set-user-id, set-group-id and sticky bits are not given");
  }
  return mode;
}

void append_info(std::string& out, const FileInfo& info) {
  ObjectWriter object(out);
  object.bytes("name", info.name);
  object.bytes("path", info.path);
  object.member("kind", info.kind);
  object.member("size", info.size);
  object.member("mode", fmt::format("{:04o}", info.mode));
  object.member("uid", info.uid);
  object.member("gid", info.gid);
  object.member("modified_at", to_rfc3339(info.modified_at));
  if (info.kind == FileKind::symlink) object.bytes("link_target", info.link_target);
  object.close();
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

Task<> refuse_range(Call& call, uint64_t size) {
  Error error(Code::invalid_argument,
              "Range: it begins after the end of a file of " + std::to_string(size) + " bytes");
  auto response = make_problem_response(
      Problem(416, "range_not_satisfiable", std::move(error).at_stage("request")), call.ids());
  response.headers.add("Content-Range", "bytes */" + std::to_string(size));
  co_return co_await call.answer_with(std::move(response));
}

}  // namespace

Task<> read_file(Call& call) {
  CO_TRY(auto path, read_needed_path(call.request().query));
  CO_TRY(const auto lease, call.engine().guest(call.caller(), call.sandbox()));
  call.begin_operation(lease, "read_file");
  CO_TRY(const auto reader, co_await lease->open_read(std::move(path)));
  const uint64_t size = reader->size();
  if (size == 0) {
    CO_TRY(auto piece, co_await reader->read(0, kPiece));
    if (!piece.empty()) co_return co_await send_unsized(call, *reader, std::move(piece));
  }
  // Without validators nobody can know whether If-Range still holds, so such a client gets
  // everything.
  const auto& asked = call.request().headers;
  const auto header = asked.contains("If-Range") ? std::nullopt : asked.find("Range");
  const auto choice = choose_range(header, size);
  if (choice.kind == RangeKind::unsatisfiable) co_return co_await refuse_range(call, size);

  net::Headers headers = call.headers(kBytes);
  headers.add("Accept-Ranges", "bytes");
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
  CO_TRY(const auto mode, read_mode(query));
  CO_TRY(const auto parents, read_flag(query, "parents"));
  if (call.request().headers.contains("Content-Range")) {
    co_return invalid("Content-Range", "a file is always written whole");
  }
  const uint64_t most = call.options().most_upload_bytes;
  const Error too_large(Code::too_large,
                        "a file has at most " + std::to_string(most) + " bytes here");
  if (call.exchange().declared_body_size().value_or(0) > most) co_return too_large;

  CO_TRY(const auto lease, call.engine().guest(call.caller(), call.sandbox()));
  call.begin_operation(lease, "write_file");
  const auto how = parents.value_or(true) ? Parents::create : Parents::must_exist;
  CO_TRY(const auto writer, co_await lease->open_write(std::move(path), mode, how));
  std::string buffer(kPiece, '\0');
  uint64_t total = 0;
  for (;;) {
    CO_TRY(const size_t got, co_await call.exchange().read_body_some(buffer.data(), kPiece));
    if (got == 0) break;
    total += got;
    if (total > most) co_return too_large;
    CO_TRY_OK(co_await writer->write(buffer.substr(0, got)));
  }
  CO_TRY(const auto info, co_await writer->commit());
  std::string json;
  append_info(json, info);
  co_return co_await call.answer(200, std::move(json));
}

Task<> delete_file(Call& call) {
  CO_TRY(auto path, read_needed_path(call.request().query));
  CO_TRY(const auto recursive, read_flag(call.request().query, "recursive"));
  CO_TRY(const auto lease, call.engine().guest(call.caller(), call.sandbox()));
  call.begin_operation(lease, "remove_file");
  const auto how = recursive.value_or(false) ? Recursive::yes : Recursive::no;
  CO_TRY_OK(co_await lease->remove(std::move(path), how));
  co_return co_await call.answer_nothing();
}

Task<> list_files(Call& call) {
  CO_TRY(auto given, read_path(call.request().query));
  const std::string path = std::move(given).value_or(".");
  CO_TRY(const auto lease, call.engine().guest(call.caller(), call.sandbox()));
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
  CO_TRY(const auto lease, call.engine().guest(call.caller(), call.sandbox()));
  call.begin_operation(lease, "stat_file");
  CO_TRY(const auto info, co_await lease->stat(std::move(path).value_or(".")));
  std::string json;
  append_info(json, info);
  co_return co_await call.answer(200, std::move(json));
}

Task<> make_directory(Call& call) {
  CO_TRY(auto wire, co_await read_json<WireMkdir>(call, kMostJson));
  CO_TRY(auto path, pick_path("path", std::move(wire.path), std::move(wire.path_b64)));
  CO_TRY(const auto lease, call.engine().guest(call.caller(), call.sandbox()));
  call.begin_operation(lease, "make_directory");
  const auto how = wire.parents.value_or(true) ? Parents::create : Parents::must_exist;
  CO_TRY_OK(co_await lease->mkdir(std::move(path), how));
  co_return co_await call.answer_nothing();
}

Task<> move_file(Call& call) {
  CO_TRY(auto wire, co_await read_json<WireMove>(call, kMostJson));
  CO_TRY(auto from, pick_path("from", std::move(wire.from), std::move(wire.from_b64)));
  CO_TRY(auto to, pick_path("to", std::move(wire.to), std::move(wire.to_b64)));
  CO_TRY(const auto lease, call.engine().guest(call.caller(), call.sandbox()));
  call.begin_operation(lease, "move_file");
  CO_TRY_OK(co_await lease->move(std::move(from), std::move(to)));
  co_return co_await call.answer_nothing();
}

Task<> remove_file(Call& call) {
  CO_TRY(auto wire, co_await read_json<WireRemove>(call, kMostJson));
  CO_TRY(auto path, pick_path("path", std::move(wire.path), std::move(wire.path_b64)));
  CO_TRY(const auto lease, call.engine().guest(call.caller(), call.sandbox()));
  call.begin_operation(lease, "remove_file");
  const auto how = wire.recursive.value_or(false) ? Recursive::yes : Recursive::no;
  CO_TRY_OK(co_await lease->remove(std::move(path), how));
  co_return co_await call.answer_nothing();
}

}  // namespace atl::api::v1
