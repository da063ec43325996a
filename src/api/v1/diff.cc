// GET /v1/sandboxes/{id}/diff: what a sandbox changed in its copies of host directories.
#include <fmt/core.h>

#include "api/object_writer.h"
#include "api/parameters.h"
#include "api/v1/handlers.h"

namespace atl::api::v1 {
namespace {

void append_copy(std::string& out, const Changes::Copy& copy) {
  ObjectWriter object(out);
  object.bytes("path", copy.path);
  object.bytes("host_path", copy.host_path);
  object.close();
}

void append_change(std::string& out, const FileChange& change) {
  ObjectWriter object(out);
  object.member("change", change.change);
  object.member("kind", change.kind);
  object.bytes("path", change.path);
  object.member("size", change.size);
  object.member("mode", fmt::format("{:04o}", change.mode));
  // A number of this size does not survive every JSON parser.
  object.member("modified_ns", std::to_string(change.modified_at.count()));
  if (change.kind == FileKind::symlink) object.bytes("link_target", change.link_target);
  object.close();
}

template <typename Items, typename Append>
void append_list(std::string& json, const Items& items, Append append) {
  json += '[';
  for (const auto& item : items) {
    if (json.back() != '[') json += ',';
    append(json, item);
  }
  json += ']';
}

}  // namespace

Task<> diff_sandbox(Call& call) {
  CO_TRY(auto path, read_path(call.request().query));
  CO_TRY(const auto told, co_await call.engine().changes(call.caller(), call.sandbox(),
                                                         std::move(path).value_or("")));
  std::string json;
  ObjectWriter object(json);
  object.member("created_at", to_rfc3339(told.created_at));
  append_list(object.key("copies"), told.copies, append_copy);
  append_list(object.key("changes"), told.changes, append_change);
  object.close();
  co_return co_await call.answer(200, std::move(json));
}

}  // namespace atl::api::v1
