#include "template/image_layout.h"

#include <algorithm>

#include "base/text.h"
#include "crypto/hash.h"

namespace atl {
namespace {

constexpr size_t kLargestJson = 4 << 20;
constexpr size_t kMostLayers = 128;
constexpr int kMostIndexes = 4;  // one inside the other
constexpr std::string_view kSha256 = "sha256:";
constexpr std::string_view kArchitecture = "amd64";

Error refused(std::string_view what) {
  return Error(Code::invalid_argument, "the image is refused: " + std::string(what))
      .with_hint("give one image as `docker save NAME` or `skopeo copy … oci-archive:` writes it");
}

bool is_hex_digest(std::string_view text) {
  return text.size() == 64 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// "sha256:0a…" → "0a…".
Result<std::string> hex_of(std::string_view digest) {
  if (!digest.starts_with(kSha256) || !is_hex_digest(digest.substr(kSha256.size())))
    return refused("it has a digest that is no sha256: " + to_printable(digest.substr(0, 100)));
  return std::string(digest.substr(kSha256.size()));
}

const json::Value* find(const json::Value& value, std::string_view name) {
  const json::Object* object = value.if_object();
  return object != nullptr ? object->if_contains(name) : nullptr;
}

std::string text_at(const json::Value& value, std::string_view name) {
  const json::Value* member = find(value, name);
  return member != nullptr && member->is_string() ? std::string(member->get_string()) : "";
}

const json::Array* list_at(const json::Value& value, std::string_view name) {
  const json::Value* member = find(value, name);
  return member != nullptr ? member->if_array() : nullptr;
}

Result<std::vector<std::string>> diff_ids_of(const json::Value& config) {
  std::vector<std::string> ids;
  const json::Value* rootfs = find(config, "rootfs");
  const json::Array* list = rootfs != nullptr ? list_at(*rootfs, "diff_ids") : nullptr;
  if (list == nullptr) return refused("its configuration names no layers");
  if (list->size() > kMostLayers) return refused("it has more than 128 layers");
  for (const json::Value& value : *list) {
    const json::Value& id = value;
    if (!id.is_string()) return refused("a layer has no digest");
    TRY(auto hex, hex_of(std::string_view(id.get_string())));
    ids.push_back(std::move(hex));
  }
  return ids;
}

class Finder final {
 public:
  explicit Finder(const ArchiveIndex& index) : index_(index) {}

  // What `docker save` writes: manifest.json is a list of images with paths of their parts.
  Result<ImageLayout> docker(const json::Array& images) const {
    if (images.size() != 1)
      return refused("the archive holds " + std::to_string(images.size()) + " images, not one");
    const std::string config_path = text_at(images[0], "Config");
    const json::Array* paths = list_at(images[0], "Layers");
    if (paths == nullptr || config_path.empty()) return refused("manifest.json names no layers");
    TRY(const auto text, index_.text(config_path, kLargestJson));
    TRY_OK(check(text, digest_in(config_path), config_path));
    TRY(auto layout, with_config(text));
    layout.kind = TemplateKind::docker;
    if (paths->size() != layout.layers.size())
      return refused("manifest.json and the configuration name different layers");
    for (size_t i = 0; i < paths->size(); ++i) {
      const json::Value& path = (*paths)[i];
      if (!path.is_string()) return refused("manifest.json names no layers");
      TRY_OK(place(layout.layers[i], std::string(path.get_string())));
    }
    return layout;
  }

  // index.json leads to a manifest, the manifest to a configuration and layers.
  Result<ImageLayout> oci() const {
    TRY(auto text, index_.text("index.json", kLargestJson));
    for (int depth = 0; depth < kMostIndexes; ++depth) {
      TRY(const auto document, json::parse(text, {.max_bytes = kLargestJson}));
      if (list_at(document, "layers") != nullptr) return oci_image(document);
      const json::Array* manifests = list_at(document, "manifests");
      if (manifests == nullptr) return refused("index.json leads to no image");
      TRY(const auto digest, choose(*manifests));
      TRY(text, blob(digest));
    }
    return refused("its indexes lead to each other");
  }

 private:
  Result<ImageLayout> oci_image(const json::Value& manifest) const {
    const json::Value* config = find(manifest, "config");
    if (config == nullptr) return refused("its manifest names no configuration");
    TRY(const auto text, blob(text_at(*config, "digest")));
    TRY(auto layout, with_config(text));
    layout.kind = TemplateKind::oci;
    const json::Array& layers = *list_at(manifest, "layers");
    if (layers.size() != layout.layers.size())
      return refused("its manifest and its configuration name different layers");
    for (size_t i = 0; i < layers.size(); ++i) {
      TRY(const auto hex, hex_of(text_at(layers[i], "digest")));
      TRY_OK(place(layout.layers[i], "blobs/sha256/" + hex));
    }
    return layout;
  }

  // Attestations and the like have a platform that nothing runs on.
  static Result<std::string> choose(const json::Array& manifests) {
    std::string chosen, only;
    for (const json::Value& one : manifests) {
      only = text_at(one, "digest");
      const json::Value* platform = find(one, "platform");
      if (platform == nullptr) continue;
      if (text_at(*platform, "os") == "linux" &&
          text_at(*platform, "architecture") == kArchitecture && chosen.empty()) {
        chosen = only;
      }
    }
    if (!chosen.empty()) return chosen;
    if (manifests.size() == 1 && find(manifests[0], "platform") == nullptr) return only;
    return refused("it holds no image, or several, of which none is for linux/amd64");
  }

  Result<ImageLayout> with_config(const std::string& text) const {
    TRY(const auto document, json::parse(text, {.max_bytes = kLargestJson}));
    ImageLayout layout;
    TRY(layout.config, read_image_config(document));
    TRY(auto ids, diff_ids_of(document));
    for (auto& id : ids)
      layout.layers.push_back({.part = {}, .digest = "", .diff_id = std::move(id)});
    if (layout.layers.empty()) return refused("it has no layers");
    return layout;
  }

  Result<> place(ImageLayer& layer, const std::string& path) const {
    const auto part = index_.find(path);
    if (!part) {
      return refused("the archive lacks the layer '" + to_printable(path.substr(0, 200)) + "'");
    }
    layer.part = *part;
    layer.digest = digest_in(path);
    return {};
  }

  // A small blob by its digest, checked.
  Result<std::string> blob(const std::string& digest) const {
    TRY(const auto hex, hex_of(digest));
    TRY(auto text, index_.text("blobs/sha256/" + hex, kLargestJson));
    TRY_OK(check(text, hex, digest));
    return text;
  }

  // Names that are digests promise what is in the file: "blobs/sha256/0a…", "0a….json".
  static std::string digest_in(const std::string& path) {
    std::string_view name = path;
    name.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0
    const bool is_blob = path.starts_with("blobs/sha256/");
    if (name.ends_with(".json")) name.remove_suffix(5);
    const bool is_legacy = name.size() + 5 == path.size();
    return (is_blob || is_legacy) && is_hex_digest(name) ? std::string(name) : "";
  }

  static Result<> check(const std::string& text, const std::string& hex, const std::string& what) {
    if (hex.empty() || crypto::sha256_hex(text) == hex) return {};
    return Error(Code::invalid_argument, "the image is damaged: '" +
                                             to_printable(what.substr(0, 200)) +
                                             "' does not have the digest that it is named by")
        .with_hint("make or fetch the archive again");
  }

  const ArchiveIndex& index_;
};

}  // namespace

Result<ImageLayout> find_image_layout(const ArchiveIndex& index) {
  const Finder finder(index);
  // A root file system may have a file of that name, too; then it says something else.
  if (index.find("manifest.json")) {
    const auto text = index.text("manifest.json", kLargestJson);
    const auto document =
        text ? json::parse(*text, {.max_bytes = kLargestJson}) : Result<json::Value>(text.error());
    const json::Array* images = document ? document->if_array() : nullptr;
    if (images != nullptr && !images->empty() && find((*images)[0], "Layers") != nullptr)
      return finder.docker(*images);
  }
  if (index.find("oci-layout") && index.find("index.json")) return finder.oci();
  ImageLayout layout;
  layout.layers.push_back({.part = {0, index.size()}, .digest = "", .diff_id = ""});
  return layout;
}

}  // namespace atl
