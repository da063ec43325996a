// Files as JSON tells of them, and what the routes about files have in common.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/call.h"
#include "driver/guest.h"

namespace atl::api::v1 {

// From one of `field` and `field_b64`.
Result<std::string> pick_path(std::string_view field, std::optional<std::string> plain,
                              std::optional<std::string> encoded);
// Octal; 0644 if there is none.
Result<uint32_t> read_mode(std::optional<std::string_view> text);

void append_info(std::string& out, const FileInfo& info);
Task<> answer_info(Call& call, FileInfo info);

// "\"0123…\"", or "" for a version that is not known.
std::string etag_of(uint64_t version);
// Whether a list of tags, as If-Match and If-None-Match have it, names this one.
bool names_tag(std::string_view list, std::string_view tag);

// What speaks against an If-Match, "" = nothing; the file is another one, or is not there. Nobody
// is kept from changing it right after.
Task<std::string> find_mismatch(Guest& guest, std::string path, std::string condition);
Task<> answer_mismatch(Call& call, std::string mismatch);  // 412

// A PUT that names an upload, see uploads.cc.
Task<> resume_upload(Call& call, std::string path);

}  // namespace atl::api::v1
