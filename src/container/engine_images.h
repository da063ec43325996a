// EngineImages: the images of an engine: what is there, and what is fetched or brought.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "container/engine_line.h"
#include "driver/progress.h"

namespace atl::container {

struct ImageFacts {
  std::string id;                    // names this content and no other
  std::vector<std::string> digests;  // "name@sha256:…", as registries know it
  std::vector<std::string> volumes;  // paths that it declares as such
  std::string architecture;          // "amd64"; "" = it does not say
  std::vector<std::string> names;    // "repository:tag"
  bool is_kept = false;              // a snapshot or a template, whichever Atoll's
};

using Labels = std::map<std::string, std::string>;

struct LabelledImage {
  std::string name;  // "repository:tag"
  Labels labels;
};

// One that a name without a registry's is looked for at.
constexpr std::string_view kHub = "docker.io";
// As part of the path of a call that makes an image: it bears this label.
std::string label_change(std::string_view name, std::string_view value);
// The registry's part of an image's name: "127.0.0.1:5000", "docker.io".
std::string registry_of(const std::string& image);

// Who follows a pull, and may end it.
struct PullWatch {
  ProgressListener on_progress = {};
  std::shared_ptr<GiveUp> give_up = nullptr;
};

class EngineImages final {
 public:
  explicit EngineImages(EngineLine& line) : line_(line) {}

  // Code::not_found when the engine does not have it, Code::unsupported for volumes that cannot be
  // covered.
  Task<ImageFacts> inspect(std::string image);

  // Fetches it from its registry; `patience` is the most that it may take, a minute of it without a
  // word. `authorization` is the value of X-Registry-Auth, "" = none; nobody is told of it. Errors
  // say whose fault it is: Code::not_found (no such image), Code::permission_denied (the registry
  // refuses), Code::deadline_exceeded (it hangs), Code::unavailable (it cannot be reached),
  // Code::cancelled (nobody wants it any more).
  Task<> pull(std::string image, std::string authorization, Millis patience, PullWatch watch);

  // Makes an image of a root file system, a tar archive in pieces (the empty one is its end), that
  // bears these labels, and those of our driver and generation (container_spec.h). One of that name
  // that is there keeps its content and loses the name.
  Task<> import(std::string image, Labels labels, std::function<Task<std::string>()> next_piece,
                std::shared_ptr<GiveUp> give_up = nullptr);
  // Those of our driver that bear this label, by each of their names, the newest first. What was
  // committed of their containers bears it, too, and is left out.
  Task<std::vector<LabelledImage>> list_labelled(std::string label);
  // One that is gone is no error; Code::conflict when a container has it.
  Task<> remove(std::string image);

 private:
  EngineLine& line_;
};

}  // namespace atl::container
