// ImageSupply: the image that a sandbox gets, brought to the engine if it is not there.
//
// A name is looked for at the engine, and fetched from its registry as the request says. A
// template's tree becomes an image of the engine's, named by its content and by whose it is, the
// first time that somebody wants it. It goes with its template, and those that were made longest
// ago when there are many. Other daemons have theirs beside it, which share what is in them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/event.h"
#include "base/fd.h"
#include "container/engine_images.h"
#include "driver/spec.h"

namespace atl::container {

using TreeArchiver = std::function<std::function<Task<std::string>()>(Fd root)>;

struct WantedImage {
  std::string name;
  bool is_snapshot = false;  // the name is that of one that the caller may have
  Pull pull = Pull::missing;
  std::string template_id;   // "" = the image `name`
  const Fd* tree = nullptr;  // the template's; outlives the call
  ProgressListener on_progress;
  std::shared_ptr<GiveUp> give_up = nullptr;  // as in SandboxSpec
};

struct ReadyImage {
  std::string name;
  ImageFacts facts;
};

// "atoll-template:0123…-4567…"; `instance` as in kLabelInstance.
std::string template_image(const Dialect& dialect, const std::string& instance,
                           const std::string& template_id);
// What tells the images of one from those of others in their names.
std::string mark_of_instance(const std::string& instance);
constexpr size_t kMostTemplateImages = 32;

class ImageSupply final : public std::enable_shared_from_this<ImageSupply> {
 public:
  // `instance` as in kLabelInstance.
  ImageSupply(EngineImages& images, const Dialect& dialect, std::string instance, Millis patience,
              TreeArchiver archive)
      : images_(images),
        dialect_(dialect),
        instance_(std::move(instance)),
        patience_(patience),
        archive_(std::move(archive)) {}

  Task<ReadyImage> get(WantedImage wanted);
  // Those of templates that nobody needs go; what a container has goes another time.
  Task<> forget(std::function<bool(const std::string& template_id)> is_needed);

 private:
  Task<ReadyImage> get_named(WantedImage wanted);
  Task<ReadyImage> get_template(WantedImage wanted);
  Task<> load(WantedImage wanted, std::string name);
  // Our own, the newest first.
  Task<std::vector<LabelledImage>> list_own();
  // So that the engine's disk does not fill with what once was a template.
  Task<> forget_old(std::string kept);
  Task<> drop(std::string name);

  EngineImages& images_;
  const Dialect& dialect_;
  std::string instance_;
  Millis patience_;
  TreeArchiver archive_;
  std::map<std::string, std::shared_ptr<Event>> loading_;  // by template, while one is loaded
};

}  // namespace atl::container
