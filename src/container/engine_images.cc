#include "container/engine_images.h"

#include <algorithm>
#include <map>
#include <memory>

#include "base/text.h"
#include "container/container_spec.h"
#include "container/json_at_internal.h"
#include "container/snapshot_images.h"
#include "json/write.h"

namespace atl::container {
namespace {

constexpr size_t kMostVolumes = 64;
constexpr Millis kPullSilence{60'000};
constexpr Millis kImportTime{600'000};

std::vector<std::string> texts_at(const json::Value* value, std::string_view name) {
  std::vector<std::string> texts;
  const json::Value* found = find(value, name);
  if (found == nullptr || !found->is_array()) return texts;
  for (const auto& one : found->as_array())
    if (one.is_string()) texts.emplace_back(one.as_string());
  return texts;
}

// Where a tmpfs can be put: a plain absolute path.
bool is_plain_path(std::string_view path) {
  return path.size() > 1 && path.size() < 256 && path.starts_with('/') && !has_word(path, "..") &&
         path.find_first_of(std::string_view(":,\\\0", 4)) == std::string_view::npos;
}

// The name goes into a path in which its slashes are slashes.
std::string image_path(const std::string& image) {
  std::string path = "/images";
  for (const auto& part : split(image, '/')) path += "/" + net::percent_encode(part);
  return path;
}

bool has_any(const std::string& text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return has_word(text, word); });
}

// As an instruction of a recipe has it: plain where it can be, as podman takes nothing else.
std::string in_a_label(const std::string& value) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@-";
  if (!value.empty() && value.find_first_not_of(kPlain) == std::string::npos) return value;
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\' || c == '$') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

struct ImageName {
  std::string repository;
  std::string tag;  // or "sha256:…"
};

ImageName split_name(const std::string& image) {
  if (const size_t at = image.find('@'); at != std::string::npos)
    return {image.substr(0, at), image.substr(at + 1)};
  const size_t colon = image.rfind(':');
  if (colon != std::string::npos && image.find('/', colon) == std::string::npos)
    return {image.substr(0, colon), image.substr(colon + 1)};
  return {image, "latest"};
}

// The sum of as many as there may be does not overflow.
constexpr size_t kMostLayers = 1'000;
constexpr int64_t kLargestLayer = int64_t{1} << 50;

uint64_t bytes_at(const json::Value* detail, std::string_view name) {
  return static_cast<uint64_t>(std::clamp<int64_t>(number_at(detail, name), 0, kLargestLayer));
}

// What a pull has told so far.
struct PullProgress {
  struct Layer {
    uint64_t done = 0, total = 0;
  };
  std::map<std::string, Layer> layers;
  ProgressListener listener;

  void take(const json::Value& line) {
    if (layers.size() > kMostLayers || !listener) return;
    const json::Value* detail = find(&line, "progressDetail");
    const std::string status = text_at(&line, "status");
    Layer& layer = layers[text_at(&line, "id")];
    if (has_any(status, {"Downloading"})) {
      // One whose size nobody has told does not count: more than all would be there.
      const uint64_t total = bytes_at(detail, "total");
      layer = {std::min(bytes_at(detail, "current"), total), total};
    } else if (has_any(status, {"complete", "exists"})) {
      layer.done = layer.total;
    }
    Progress sum{.stage = "pull"};
    for (const auto& [id, one] : layers) {
      sum.done += one.done;
      sum.total += one.total;
    }
    listener(sum);
  }
};

Error in_our_words(const Error& error, const Dialect& dialect, const std::string& image,
                   Millis patience) {
  if (error.code() == Code::cancelled) return error;
  if (error.code() == Code::out_of_space) return Error(error).with("fetching " + image);
  const std::string name(dialect.name);
  const std::string& told = error.message();
  const std::string registry = registry_of(image);
  if (error.code() == Code::deadline_exceeded) {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::min(patience, kPullSilence));
    return Error(Code::deadline_exceeded, "the registry " + registry + " hangs: " + image +
                                              " has not come within " +
                                              std::to_string(seconds.count()) + " s")
        .with_hint("try again, or fetch it by hand: " + name + " pull " + image);
  }
  if (has_any(told, {"unauthorized", "no basic auth credentials", "authentication required",
                     "access denied", "access to the resource is denied", "requested access"})) {
    return Error(Code::permission_denied, "the registry " + registry + " refuses " + image)
        .with_hint("it wants to know who asks, or there is no such image: " + name + " login " +
                   registry + ", as the user who makes sandboxes");
  }
  if (has_any(told, {"connection refused", "no such host", "dial tcp", "i/o timeout",
                     "network is unreachable", "server misbehaving", "x509", "tls:"})) {
    return Error(Code::unavailable, "the registry " + registry + " cannot be reached: " + told)
        .with_hint("is its name right, and can the engine's host reach it?");
  }
  if (error.code() == Code::not_found ||
      has_any(told, {"manifest unknown", "not found", "name unknown", "does not exist"})) {
    return Error(Code::not_found, "the registry " + registry + " has no image " + image)
        .with_hint("look at its name and its tag; the engine says: " + told);
  }
  return Error(error).with("fetching " + image);
}

}  // namespace

std::string registry_of(const std::string& image) {
  const size_t slash = image.find('/');
  if (slash == std::string::npos) return std::string(kHub);
  const std::string first = image.substr(0, slash);
  const bool is_host = first == "localhost" || first.find_first_of(".:") != std::string::npos;
  return is_host ? first : std::string(kHub);
}

// Podman takes one of them at a time.
std::string label_change(std::string_view name, std::string_view value) {
  return "&changes=" +
         net::percent_encode("LABEL " + std::string(name) + "=" + in_a_label(std::string(value)));
}

Task<ImageFacts> EngineImages::inspect(std::string image) {
  std::string path = image_path(image) + "/json";
  CO_TRY(const auto told, co_await line_.ask(net::Method::get, std::move(path), {}, Pace::quick));
  ImageFacts facts;
  facts.id = text_at(&told, "Id");
  facts.architecture = text_at(&told, "Architecture");
  facts.digests = texts_at(&told, "RepoDigests");
  facts.names = texts_at(&told, "RepoTags");
  const json::Value* config = find(&told, "Config");
  const json::Value* labels = find(config, "Labels");
  facts.is_kept =
      find(labels, kLabelSnapshot) != nullptr || find(labels, kLabelTemplate) != nullptr;
  const json::Value* declared = find(config, "Volumes");
  if (declared == nullptr || !declared->is_object()) co_return facts;
  for (const auto& volume : declared->as_object()) {
    const std::string_view name = volume.key();
    if (!is_plain_path(name) || facts.volumes.size() >= kMostVolumes) {
      co_return Error(Code::unsupported,
                      "image " + image + " declares volumes that cannot be limited")
          .with_hint("take another image");
    }
    facts.volumes.emplace_back(name);
  }
  co_return facts;
}

Task<> EngineImages::pull(std::string image, std::string authorization, Millis patience,
                          PullWatch watch) {
  const ImageName name = split_name(image);
  auto progress = std::make_shared<PullProgress>();
  progress->listener = std::move(watch.on_progress);
  Followed call;
  call.give_up = std::move(watch.give_up);
  call.path = "/images/create?fromImage=" + net::percent_encode(name.repository) +
              "&tag=" + net::percent_encode(name.tag);
  if (!authorization.empty()) call.headers.add("X-Registry-Auth", authorization);
  call.on_line = [progress](const json::Value& line) { progress->take(line); };
  call.silence = std::min(patience, kPullSilence);
  call.total = patience;
  auto pulled = co_await line_.follow(std::move(call));
  if (!pulled) co_return in_our_words(pulled.error(), line_.dialect(), image, patience);
  co_return Result<>();
}

Task<> EngineImages::import(std::string image, Labels labels,
                            std::function<Task<std::string>()> next_piece,
                            std::shared_ptr<GiveUp> give_up) {
  Followed call;
  call.give_up = std::move(give_up);
  // The tag is part of the name: podman overlooks one that is given beside it.
  call.path = "/images/create?fromSrc=-&repo=" + net::percent_encode(image);
  labels.emplace(kLabelDriver, line_.dialect().name);
  labels.emplace(kLabelGeneration, kGeneration);
  for (const auto& [name, value] : labels) call.path += label_change(name, value);
  call.headers.add("Content-Type", "application/x-tar");
  call.next_piece = std::move(next_piece);
  call.silence = kImportTime;
  call.total = kImportTime;
  co_return co_await line_.follow(std::move(call));
}

// Asked by one label, and the rest is looked at here, as SnapshotImages::list() does.
Task<std::vector<LabelledImage>> EngineImages::list_labelled(std::string label) {
  std::string filters;
  json::write_value(filters, json::Object{{"label", json::Array{label}}});
  std::string path = "/images/json?filters=" + net::percent_encode(filters);
  CO_TRY(const auto told, co_await line_.ask(net::Method::get, std::move(path), {}, Pace::slow));
  std::vector<LabelledImage> images;
  if (!told.is_array()) co_return images;
  for (const json::Value& row : told.as_array()) {
    const json::Value* held = find(&row, "Labels");
    const json::Value* names = find(&row, "RepoTags");
    if (held == nullptr || !held->is_object() || names == nullptr || !names->is_array()) continue;
    Labels labels;
    for (const auto& one : held->as_object()) labels[one.key()] = text_at(held, one.key());
    if (labels.contains(std::string(kLabelSnapshot))) continue;
    if (labels[std::string(kLabelDriver)] != line_.dialect().name) continue;
    for (const auto& one : names->as_array()) {
      if (one.is_string()) images.push_back({std::string(one.as_string()), labels});
    }
  }
  co_return images;
}

Task<> EngineImages::remove(std::string image) {
  std::string path = image_path(image);
  auto removed = co_await line_.ask(net::Method::delete_, std::move(path), {}, Pace::slow);
  if (!removed && removed.error().code() != Code::not_found) co_return std::move(removed).error();
  co_return Result<>();
}

}  // namespace atl::container
