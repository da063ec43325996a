#include "container/snapshot_images.h"

#include <algorithm>

#include "base/ids.h"
#include "container/container_spec.h"
#include "container/engine_images.h"
#include "json/value.h"
#include "json/write.h"
#include "net/http_message.h"

namespace atl::container {
namespace {

constexpr std::string_view kRepository = "localhost/atoll-snapshot";
constexpr std::string_view kForTheMoment[] = {"/tmp", "/run", "/var/tmp"};

const json::Value* find(const json::Value* where, std::string_view name) {
  if (where == nullptr || !where->is_object()) return nullptr;
  return where->as_object().if_contains(name);
}

std::string text_at(const json::Value* where, std::string_view name) {
  const json::Value* found = find(where, name);
  return found != nullptr && found->is_string() ? std::string(found->as_string()) : "";
}

std::string image_path(std::string_view id) {
  return "/images/" + std::string(kRepository) + ":" + std::string(id);
}

}  // namespace

std::string snapshot_image(std::string_view id) {
  return std::string(kRepository) + ":" + std::string(id);
}

SnapshotImages::SnapshotImages(EngineLine& line, std::string instance, std::string former)
    : line_(line), instance_(std::move(instance)), former_(std::move(former)) {}

std::vector<std::string> kept_places(std::vector<std::string> in_memory) {
  std::erase_if(in_memory, [](const std::string& place) {
    return std::ranges::find(kForTheMoment, place) != std::end(kForTheMoment);
  });
  return in_memory;
}

Task<uint64_t> SnapshotImages::commit(std::string sandbox, std::string id) {
  std::string path =
      "/commit?pause=true&container=" + net::percent_encode(container_name(sandbox)) +
      "&repo=" + net::percent_encode(std::string(kRepository)) + "&tag=" + id;
  // All of them: what an image inherits of its container's labels is the engine's affair.
  for (const auto& [name, value] :
       {std::pair(kLabelInstance, std::string_view(instance_)),
        std::pair(kLabelDriver, line_.dialect().name),
        std::pair(kLabelSandbox, std::string_view(sandbox)),
        std::pair(kLabelGeneration, kGeneration), std::pair(kLabelSnapshot, std::string_view(id))})
    path += label_change(name, value);
  CO_TRY(const auto told,
         co_await line_.ask(net::Method::post, std::move(path), "{}", Pace::patient));
  const std::string digest = text_at(&told, "Id");
  auto seen = co_await look(id);
  // Podman leaves the name of the hash out in one of the two.
  if (seen &&
      (digest.empty() || !text_at(&*seen, "Id").ends_with(digest.substr(digest.find(':') + 1))))
    seen = Error(Code::internal, "the engine has another image than it has made");
  if (seen) {
    const json::Value* size = find(&*seen, "Size");
    co_return size != nullptr && size->is_number() ? size->to_number<uint64_t>() : 0;
  }
  const auto dropped = co_await drop(id);
  (void)dropped;  // list() shows it
  co_return std::move(seen).error().with("reading the snapshot back");
}

Task<json::Value> SnapshotImages::look(std::string id) {
  CO_TRY(auto seen,
         co_await line_.ask(net::Method::get, image_path(id) + "/json", {}, Pace::quick));
  const json::Value* labels = find(find(&seen, "Config"), "Labels");
  if (text_at(labels, kLabelSnapshot) == id && is_ours(labels)) co_return std::move(seen);
  co_return Error(Code::not_found, "image " + snapshot_image(id) + " is not ours");
}

Task<> SnapshotImages::check(std::string id) {
  CO_TRY_OK(co_await look(std::move(id)));
  co_return Result<>();
}

bool SnapshotImages::is_ours(const json::Value* labels) const {
  return (text_at(labels, kLabelInstance) == instance_ || is_formers(labels)) &&
         text_at(labels, kLabelDriver) == line_.dialect().name;
}

bool SnapshotImages::is_formers(const json::Value* labels) const {
  return !former_.empty() && text_at(labels, kLabelInstance) == former_;
}

// Asked by one label, and the rest is looked at here: podman finds nothing when a label by its name
// is asked together with others by their values.
Task<json::Array> SnapshotImages::rows() {
  std::string filters;
  json::write_value(filters, json::Object{{"label", json::Array{kLabelSnapshot}}});
  std::string path = "/images/json?filters=" + net::percent_encode(filters);
  CO_TRY(auto told, co_await line_.ask(net::Method::get, std::move(path), {}, Pace::slow));
  if (!told.is_array()) co_return json::Array();
  json::Array ours;
  for (json::Value& row : told.as_array()) {
    const json::Value* labels = find(&row, "Labels");
    if (is_snapshot_id(text_at(labels, kLabelSnapshot)) && is_ours(labels))
      ours.push_back(std::move(row));
  }
  co_return ours;
}

Task<std::vector<std::string>> SnapshotImages::list() {
  CO_TRY(const auto found, co_await rows());
  std::vector<std::string> ids;
  for (const json::Value& row : found) ids.push_back(text_at(find(&row, "Labels"), kLabelSnapshot));
  co_return ids;
}

Task<std::vector<std::string>> SnapshotImages::list_formers() {
  std::vector<std::string> ids;
  if (former_.empty()) co_return ids;
  CO_TRY(const auto found, co_await rows());
  for (const json::Value& row : found) {
    const json::Value* labels = find(&row, "Labels");
    if (is_formers(labels)) ids.push_back(text_at(labels, kLabelSnapshot));
  }
  co_return ids;
}

Task<> SnapshotImages::drop(std::string id) {
  auto found = co_await check(id);
  if (!found && found.error().code() == Code::not_found) co_return Result<>();
  if (!found) co_return std::move(found).error();
  auto removed = co_await line_.ask(net::Method::delete_, image_path(id), {}, Pace::slow);
  if (removed || removed.error().code() == Code::not_found) co_return Result<>();
  const std::string& why = removed.error().message();
  if (removed.error().code() == Code::conflict || why.find("in use") != std::string::npos ||
      why.find("is using") != std::string::npos) {
    co_return Error(Code::conflict, "a sandbox that was made from it needs it");
  }
  co_return std::move(removed).error();
}

}  // namespace atl::container
