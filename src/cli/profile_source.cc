#include "cli/profile_source.h"

#include "cli/target.h"
#include "policy/profile_files.h"

namespace atl::cli {
namespace {

using policy::Form;
using policy::Origin;
using policy::ProfileText;

Result<> add_layer(const config::Layer& layer, std::vector<ProfileText>& texts) {
  const config::Setting* setting = layer.settings.find("profiles");
  if (setting == nullptr) return {};
  const Origin origin = layer.from == config::From::project ? Origin::project : Origin::operators;
  const auto* path = setting->value.if_string();
  if (path == nullptr) {
    TRY(auto text, policy::read_profile_file(layer.path, origin, Form::configuration));
    texts.push_back(std::move(text));
    return {};
  }
  std::string place(path->data(), path->size());
  if (!place.starts_with('/')) place = layer.directory + place;
  auto read = policy::read_profile_files(place, origin);
  if (!read) return std::move(read).error().with(layer.path + ": profiles");
  for (auto& text : *read) texts.push_back(std::move(text));
  return {};
}

}  // namespace

Result<std::vector<ProfileText>> profile_texts(const Args& args, Asking asking) {
  TRY(const Configuration configuration, read_configuration(args, asking));
  std::vector<ProfileText> texts;
  for (const config::Layer& layer : configuration.layers) {
    TRY_OK(to_result(layer.settings.findings));
    TRY_OK(add_layer(layer, texts));
  }
  auto path = args.find("profiles");
  if (!path) path = find_variable("ATOLL_PROFILES");
  if (!path || path->empty()) return texts;
  auto read = policy::read_profile_files(*path, Origin::operators);
  if (!read) return std::move(read).error().with("--profiles");
  for (auto& text : *read) texts.push_back(std::move(text));
  return texts;
}

Result<std::shared_ptr<const policy::Profiles>> load_profiles(const Args& args, Asking asking) {
  TRY(const auto texts, profile_texts(args, asking));
  if (texts.empty()) return policy::Profiles::built_in();
  return policy::Profiles::load(texts);
}

Result<std::unique_ptr<LocalEngine>> open_engine(Context& context) {
  std::shared_ptr<const policy::Profiles> profiles;
  if (context.args.find("profile")) {
    TRY(profiles, load_profiles(context.args, Asking::for_sandbox));
  }
  return context.program.open_engine(std::move(profiles));
}

Result<> check_no_own_profiles(const Context& context) {
  if (!context.args.given("profiles")) return {};
  return usage_error("--profiles: a daemon has profiles of its own")
      .with_hint("give them to it: atoll serve --profiles PATH");
}

}  // namespace atl::cli
