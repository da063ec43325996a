// /v1/templates: the root file systems that sandboxes can be made from.
#include "template/templates.h"

#include "api/object_writer.h"
#include "api/v1/handlers.h"

namespace atl::api::v1 {
namespace {

constexpr size_t kPiece = 256 * 1024;

Result<Templates*> templates_of(const Call& call) {
  if (call.templates() != nullptr) return call.templates();
  return Error(Code::unavailable, "this daemon keeps no templates");
}

// The {name} of /v1/templates/{name}/…: NAME[:TAG].
Result<TemplateReference> reference_of(const Call& call) {
  auto reference = parse_template_reference(call.request().segments[2]);
  if (!reference) return std::move(reference).error().at_stage("request");
  return reference;
}

void append_short(ObjectWriter& object, const TemplateView& view) {
  object.member("name", view.reference.name);
  object.member("tag", view.reference.tag);
  object.member("id", view.id());
  object.member("kind", view.facts.kind);
  object.member("files", view.facts.files);
  object.member("bytes", view.facts.bytes);
  object.member("added_at", to_rfc3339(view.versions.back().added_at));
}

void append_whole(std::string& json, const TemplateView& view) {
  ObjectWriter object(json);
  append_short(object, view);
  object.member("layers", view.facts.layers);
  object.member("left_out", view.facts.left_out);
  object.member("config", view.facts.config);
  object.key("versions") += '[';
  // The newest first, as people look for it.
  for (auto version = view.versions.rbegin(); version != view.versions.rend(); ++version) {
    if (json.back() != '[') json += ',';
    ObjectWriter one(json);
    one.member("id", version->id);
    one.member("added_at", to_rfc3339(version->added_at));
    one.close();
  }
  json += ']';
  object.close();
}

Task<> answer_whole(Call& call, int status, const TemplateView& view) {  // awaited at once
  std::string json;
  append_whole(json, view);
  co_return co_await call.answer(status, std::move(json));
}

}  // namespace

Task<> list_templates(Call& call) {
  CO_TRY(const auto templates, templates_of(call));
  std::string json;
  ObjectWriter object(json);
  object.key("templates") += '[';
  for (const auto& view : templates->list()) {
    if (json.back() != '[') json += ',';
    ObjectWriter one(json);
    append_short(one, view);
    one.member("versions", view.versions.size());
    one.close();
  }
  json += ']';
  object.close();
  co_return co_await call.answer(200, std::move(json));
}

Task<> get_template(Call& call) {
  CO_TRY(const auto templates, templates_of(call));
  CO_TRY(const auto reference, reference_of(call));
  CO_TRY(const auto view, templates->get(reference));
  co_return co_await answer_whole(call, 200, view);
}

Task<> put_template(Call& call) {
  CO_TRY(const auto templates, templates_of(call));
  CO_TRY(auto reference, reference_of(call));
  CO_TRY(const auto upload, templates->begin_upload());
  std::string buffer(kPiece, '\0');
  for (;;) {
    CO_TRY(const size_t got, co_await call.exchange().read_body_some(buffer.data(), buffer.size()));
    if (got == 0) break;
    CO_TRY_OK(co_await upload->put(buffer.substr(0, got)));
  }
  CO_TRY(const auto view, co_await templates->add(std::move(reference), upload));
  co_return co_await answer_whole(call, 201, view);
}

Task<> roll_back_template(Call& call) {
  CO_TRY(const auto templates, templates_of(call));
  CO_TRY(auto reference, reference_of(call));
  CO_TRY(const auto view, co_await templates->roll_back(std::move(reference)));
  co_return co_await answer_whole(call, 200, view);
}

Task<> delete_template(Call& call) {
  CO_TRY(const auto templates, templates_of(call));
  CO_TRY(auto reference, reference_of(call));
  CO_TRY_OK(co_await templates->remove(std::move(reference)));
  co_return co_await call.answer_nothing();
}

}  // namespace atl::api::v1
