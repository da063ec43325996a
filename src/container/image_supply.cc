#include "container/image_supply.h"

#include <algorithm>

#include <boost/asio/this_coro.hpp>

#include "base/text.h"
#include "container/container_spec.h"
#include "container/json_at_internal.h"
#include "container/registry_login.h"
#include "crypto/hash.h"
#include "telemetry/log.h"

namespace atl::container {

namespace {

constexpr size_t kMarkLength = 16;
constexpr std::string_view kSnapshotRepository = "atoll-snapshot:";
constexpr std::string_view kTemplateRepository = "atoll-template:";
constexpr size_t kShortestId = 12;  // as engines themselves show it

Task<std::string> counted(Task<std::string> piece, ProgressListener listener,
                          std::shared_ptr<uint64_t> sent) {
  CO_TRY(auto bytes, co_await std::move(piece));
  listener({.stage = "load", .done = *sent += bytes.size()});
  co_return bytes;
}

// Whether somebody has given it the name that is asked for, as it is or at a place that the engine
// adds: who tags or fetches an image means that it be used.
bool is_named(const ImageFacts& facts, const std::string& asked) {
  const size_t tag = asked.find(':', asked.rfind('/') + 1);
  const std::string name = tag == std::string::npos ? asked + ":latest" : asked;
  return std::ranges::any_of(facts.names, [&](const std::string& one) {
    return !has_word(one, kSnapshotRepository) && !has_word(one, kTemplateRepository) &&
           (one == name || one.ends_with("/" + name));
  });
}

// Whose a snapshot or a template is does not show in its image, and a few digits of an id can be
// guessed: whoever may name an image would have everybody's files.
bool is_hidden(const ImageFacts& facts, const std::string& asked) {
  constexpr std::string_view kScheme = "sha256:";
  std::string_view id = facts.id;
  if (id.starts_with(kScheme)) id.remove_prefix(kScheme.size());
  const bool is_guess = asked.size() < kShortestId && id.starts_with(asked);
  return (facts.is_kept || is_guess) && !is_named(facts, asked);
}

}  // namespace

std::string mark_of_instance(const std::string& instance) {
  return crypto::sha256_hex(instance).substr(0, kMarkLength);
}

std::string template_image(const Dialect& dialect, const std::string& instance,
                           const std::string& template_id) {
  return std::string(dialect.local_prefix) + std::string(kTemplateRepository) + template_id + "-" +
         mark_of_instance(instance);
}

Task<ReadyImage> ImageSupply::get(WantedImage wanted) {
  if (!wanted.template_id.empty()) co_return co_await get_template(std::move(wanted));
  co_return co_await get_named(std::move(wanted));
}

Task<ReadyImage> ImageSupply::get_named(WantedImage wanted) {
  const std::string image = wanted.name;
  auto found = co_await images_.inspect(image);
  if (found && !wanted.is_snapshot && is_hidden(*found, image)) {
    co_return Error(Code::not_found,
                    std::string(dialect_.name) + " has no image " + to_printable(image))
        .with_hint(
            "an id has at least 12 digits; what Atoll has kept is asked for with "
            "--snapshot or --template");
  }
  const bool is_missing = !found && found.error().code() == Code::not_found;
  if (!found && !is_missing) co_return std::move(found).error();
  if (is_missing && wanted.pull == Pull::never) {
    co_return Error(Code::not_found,
                    std::string(dialect_.name) + " has no image " + to_printable(image))
        .with_hint("fetch it: " + std::string(dialect_.name) + " pull " + image +
                   "; or let it be fetched: --pull missing");
  }
  if (is_missing || wanted.pull == Pull::always) {
    CO_TRY(auto login, find_login(login_files(dialect_), registry_of(image)));
    // A registry that hangs says nothing.
    if (wanted.on_progress) wanted.on_progress({.stage = "pull"});
    auto pulled = co_await images_.pull(
        image, std::move(login), patience_,
        {.on_progress = wanted.on_progress, .give_up = std::move(wanted.give_up)});
    if (wanted.on_progress) wanted.on_progress({.stage = "pull", .is_over = true});
    if (!pulled) co_return std::move(pulled).error();
    found = co_await images_.inspect(image);
    if (!found) co_return std::move(found).error().with("looking at what was fetched");
  }
  // The engine has verified it; it is looked at once more whether that is what it has.
  const size_t at = image.find('@');
  if (at != std::string::npos) {
    const std::string digest = image.substr(at);
    const bool is_same = std::ranges::any_of(
        found->digests, [&](const std::string& one) { return one.ends_with(digest); });
    if (!is_same) {
      co_return Error(Code::internal, std::string(dialect_.name) + " gives another image than " +
                                          to_printable(image))
          .with_hint("remove it, and let it be fetched again: " + std::string(dialect_.name) +
                     " rmi " + image);
    }
  }
  co_return ReadyImage{image, *std::move(found)};
}

Task<ReadyImage> ImageSupply::get_template(WantedImage wanted) {
  const auto self = shared_from_this();
  const std::string name = template_image(dialect_, instance_, wanted.template_id);
  for (;;) {
    auto found = co_await images_.inspect(name);
    if (found) co_return ReadyImage{name, *std::move(found)};
    if (found.error().code() != Code::not_found) co_return std::move(found).error();
    const auto other = loading_.find(wanted.template_id);
    if (other == loading_.end()) break;
    const auto done = other->second;
    CO_TRY_OK(co_await done->wait());
  }
  const auto executor = co_await asio::this_coro::executor;
  const auto done = std::make_shared<Event>(executor);
  const std::string id = wanted.template_id;
  loading_[id] = done;
  auto loaded = co_await load(std::move(wanted), name);
  loading_.erase(id);
  done->fire();
  if (!loaded) co_return std::move(loaded).error().with("making an image of the template");
  auto found = co_await images_.inspect(name);
  if (!found) co_return std::move(found).error();
  co_return ReadyImage{name, *std::move(found)};
}

Task<> ImageSupply::load(WantedImage wanted, std::string name) {
  CO_TRY(auto tree, wanted.tree->duplicate());
  auto pieces = archive_(std::move(tree));
  if (wanted.on_progress) {
    pieces = [pieces = std::move(pieces), listener = wanted.on_progress,
              sent = std::make_shared<uint64_t>(0)] { return counted(pieces(), listener, sent); };
  }
  Labels labels{{std::string(kLabelInstance), instance_},
                {std::string(kLabelTemplate), wanted.template_id}};
  auto loaded = co_await images_.import(std::move(name), std::move(labels), std::move(pieces),
                                        std::move(wanted.give_up));
  if (wanted.on_progress) wanted.on_progress({.stage = "load", .is_over = true});
  if (!loaded && loaded.error().code() == Code::deadline_exceeded) {
    co_return Error(Code::unavailable,
                    std::string(dialect_.name) + " has not taken the template in time");
  }
  if (!loaded) co_return loaded;
  auto forgotten = co_await forget_old(wanted.template_id);
  if (!forgotten) {
    telemetry::log_warn("old templates stay with the engine",
                        {{"engine", dialect_.name}, {"why", forgotten.error().message()}});
  }
  co_return Result<>();
}

Task<std::vector<LabelledImage>> ImageSupply::list_own() {
  CO_TRY(auto images, co_await images_.list_labelled(std::string(kLabelTemplate)));
  // What somebody has named again is theirs.
  std::erase_if(images, [this](LabelledImage& image) {
    return image.labels[std::string(kLabelInstance)] != instance_ ||
           image.name !=
               template_image(dialect_, instance_, image.labels[std::string(kLabelTemplate)]);
  });
  co_return images;
}

Task<> ImageSupply::drop(std::string name) {
  auto removed = co_await images_.remove(std::move(name));
  // One that a sandbox has goes another time.
  if (!removed && removed.error().code() != Code::conflict) co_return removed;
  co_return Result<>();
}

Task<> ImageSupply::forget_old(std::string kept) {
  CO_TRY(auto images, co_await list_own());
  for (size_t i = kMostTemplateImages; i < images.size(); ++i) {
    if (images[i].labels[std::string(kLabelTemplate)] == kept) continue;
    CO_TRY_OK(co_await drop(images[i].name));
  }
  co_return Result<>();
}

Task<> ImageSupply::forget(std::function<bool(const std::string& template_id)> is_needed) {
  const auto self = shared_from_this();
  CO_TRY(auto images, co_await list_own());
  for (auto& image : images) {
    if (is_needed(image.labels[std::string(kLabelTemplate)])) continue;
    CO_TRY_OK(co_await drop(image.name));
  }
  co_return Result<>();
}

}  // namespace atl::container
