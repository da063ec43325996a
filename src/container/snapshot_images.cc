#include "container/snapshot_images.h"

#include <algorithm>

#include "base/ids.h"
#include "container/container_spec.h"
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

SnapshotImages::SnapshotImages(EngineLine& line, std::string instance)
    : line_(line), instance_(std::move(instance)) {}

std::vector<std::string> kept_places(std::vector<std::string> in_memory) {
  std::erase_if(in_memory, [](const std::string& place) {
    return std::ranges::find(kForTheMoment, place) != std::end(kForTheMoment);
  });
  return in_memory;
}

Task<uint64_t> SnapshotImages::commit(std::string container, std::string id) {
  const std::string change = "LABEL " + std::string(kLabelSnapshot) + "=" + id;
  std::string path = "/commit?pause=true&container=" + net::percent_encode(container) +
                     "&repo=" + net::percent_encode(std::string(kRepository)) + "&tag=" + id +
                     "&changes=" + net::percent_encode(change);
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
  return text_at(labels, kLabelInstance) == instance_ &&
         text_at(labels, kLabelDriver) == line_.dialect().name;
}

// Asked by one label, and the rest is looked at here: podman finds nothing when a label by its name
// is asked together with others by their values.
Task<std::vector<std::string>> SnapshotImages::list() {
  std::string filters;
  json::write_value(filters, json::Object{{"label", json::Array{kLabelSnapshot}}});
  std::string path = "/images/json?filters=" + net::percent_encode(filters);
  CO_TRY(const auto told, co_await line_.ask(net::Method::get, std::move(path), {}, Pace::slow));
  std::vector<std::string> ids;
  if (!told.is_array()) co_return ids;
  for (const json::Value& row : told.as_array()) {
    const json::Value* labels = find(&row, "Labels");
    std::string id = text_at(labels, kLabelSnapshot);
    if (is_snapshot_id(id) && is_ours(labels)) ids.push_back(std::move(id));
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
