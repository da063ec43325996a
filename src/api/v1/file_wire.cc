#include "api/v1/file_wire.h"

#include <fmt/core.h>

#include "api/object_writer.h"
#include "api/parameters.h"
#include "base/text.h"
#include "json/path.h"

namespace atl::api::v1 {
namespace {

Error invalid(std::string_view field, std::string_view problem) {
  return Error(Code::invalid_argument, std::string(field) + ": " + std::string(problem))
      .at_stage("request");
}

}  // namespace

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

Result<uint32_t> read_mode(std::optional<std::string_view> text) {
  constexpr uint32_t kDefault = 0644;
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
  if (const auto tag = etag_of(info.version); !tag.empty()) object.member("etag", tag);
  object.close();
}

std::string etag_of(uint64_t version) {
  return version == 0 ? "" : fmt::format("\"{:016x}\"", version);
}

bool names_tag(std::string_view list, std::string_view tag) {
  if (list == "*") return true;
  for (auto& part : split(list, ',')) {
    std::string_view one = part;
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == tag) return true;
  }
  return false;
}

Task<std::string> find_mismatch(Guest& guest, std::string path, std::string condition) {
  if (condition.empty()) co_return std::string();
  auto info = co_await guest.stat(std::move(path));
  if (!info && info.error().code() != Code::not_found) co_return std::move(info).error();
  if (!info) co_return std::string("If-Match: there is no such file");
  const std::string tag = etag_of(info->version);
  if (names_tag(condition, tag)) co_return std::string();
  co_return "If-Match: the file is another one by now, " + tag;
}

Task<> answer_mismatch(Call& call, std::string mismatch) {
  auto error = Error(Code::conflict, std::move(mismatch))
                   .with_hint("read it anew, and write what follows from that")
                   .at_stage("request");
  co_return co_await call.answer_problem(Problem(412, "precondition_failed", std::move(error)));
}

Task<> answer_info(Call& call, FileInfo info) {
  net::Response response;
  response.status = 200;
  response.headers = call.headers("application/json");
  if (const auto tag = etag_of(info.version); !tag.empty()) response.headers.add("ETag", tag);
  append_info(response.body, info);
  co_return co_await call.answer_with(std::move(response));
}

}  // namespace atl::api::v1
