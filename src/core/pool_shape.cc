#include "core/pool_shape.h"

#include "crypto/hash.h"
#include "json/json.h"
#include "policy/startup.h"

namespace atl {
namespace {

// Parts that cannot run into each other.
class Shape final {
 public:
  void add(std::string_view part) {
    text_.append(std::to_string(part.size())).append(":").append(part);
  }
  void add(const policy::Startup& startup);
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void Shape::add(const policy::Startup& startup) {
  if (startup.dependencies) {
    const policy::Dependencies& needs = *startup.dependencies;
    const std::pair<std::string_view, const std::vector<std::string>*> lists[] = {
        {"pip", &needs.pip}, {"npm", &needs.npm}, {"apt", &needs.apt}};
    for (const auto& [installer, packages] : lists) {
      for (const std::string& package : *packages) {
        add(installer);
        add(package);
      }
    }
  }
  for (const auto& step : startup.setup.value_or(std::vector<policy::SetupStep>())) {
    add("setup");
    add(step.command);
    add(std::to_string(step.timeout_ms));
  }
  for (const auto& one : startup.requires_.value_or(std::vector<policy::Requirement>())) {
    add("requires");
    add(one.text);
  }
  const std::pair<std::string_view, const std::optional<std::vector<policy::SetupStep>>*> hooks[] =
      {{"after_start", &startup.after_start}, {"before_stop", &startup.before_stop}};
  for (const auto& [moment, steps] : hooks) {
    for (const auto& hook : steps->value_or(std::vector<policy::SetupStep>())) {
      add(moment);
      add(hook.command);
      add(std::to_string(hook.timeout_ms));
    }
  }
  if (!startup.readiness) return;
  add("readiness");
  add(startup.readiness->command);
  add(std::to_string(startup.readiness->port.value_or(0)));
  add(std::to_string(startup.readiness->interval_ms));
  add(std::to_string(startup.readiness->timeout_ms));
}

bool is_servable(const CreateRequest& request) {
  if (request.workspace || !request.mounts.empty()) return false;
  if (request.root && request.template_id.empty()) return false;
  if (!request.snapshot.empty() || request.pull == Pull::always) return false;
  // In a sandbox of its own they would be there before the setup is.
  return request.files.empty() || !request.startup;
}

}  // namespace

std::string shape_of(const CreateRequest& request, Sizes sizes) {
  if (!is_servable(request)) return "";
  Shape shape;
  shape.add(request.image);
  shape.add(request.runtime);
  shape.add(json::name_of(request.persistence));
  shape.add(json::name_of(request.network.value_or(Network::none)));
  shape.add(request.engine_socket ? "socket" : "");
  shape.add(request.home);
  shape.add(request.template_name);
  shape.add(request.template_id);
  if (sizes == Sizes::counted) shape.add(json::encode(request.resources));
  for (const auto& [name, value] : request.env) {
    shape.add(name);
    shape.add(value);
  }
  if (request.startup) {
    shape.add(*request.startup);
    // As whom, and where.
    shape.add(request.defaults.user);
    shape.add(request.defaults.cwd);
  }
  return shape.take();
}

std::string print_of(const std::string& shape) { return crypto::sha256_hex(shape); }

}  // namespace atl
