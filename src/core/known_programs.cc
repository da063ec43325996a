#include "core/known_programs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "core/engine.h"
#include "crypto/hash.h"
#include "json/json.h"
#include "policy/startup.h"

namespace atl {
namespace {

bool installs(const policy::Startup& startup) {
  return startup.setup || (startup.dependencies && !startup.dependencies->is_empty());
}

// Values may be secrets, and of a hash nothing is told.
std::string print_of(const std::string& root, const CreateRequest& request) {
  return crypto::sha256_hex(json::encode(std::vector<std::string>{root, request.defaults.user}) +
                            json::encode(request.env));
}

}  // namespace

void KnownPrograms::note(const std::string& driver, const std::string& print,
                         const std::string& program, Found found) {
  if (print.empty()) return;
  const Root root(driver, print);
  const auto [known, is_new] = roots_.try_emplace(root);
  if (is_new) {
    order_.push_back(root);
    if (order_.size() > kMostRoots) {
      roots_.erase(order_.front());
      order_.pop_front();
    }
  }
  auto& programs = known->second;
  if (programs.size() < kMostPrograms || programs.contains(program))
    programs[program] = std::move(found);
}

std::optional<std::string> KnownPrograms::find_missing(
    const std::string& driver, const std::string& print,
    const std::vector<policy::Requirement>& required) const {
  if (print.empty()) return std::nullopt;
  const auto root = roots_.find(Root(driver, print));
  if (root == roots_.end()) return std::nullopt;
  for (const auto& requirement : required) {
    const std::string wanted = requirement.text + " is required";
    bool is_known = true;
    bool is_there = false;
    // The first name that is there decides, as it does in a start.
    for (const std::string& name : policy::names_of(requirement)) {
      const auto found = root->second.find(name);
      is_known = found != root->second.end();
      if (!is_known) break;
      if (!found->second.is_there) continue;
      is_there = true;
      const Found& has = found->second;
      const bool is_fine = policy::is_met(requirement, has.version);
      if (is_fine || !has.was_asked) break;
      if (has.version.empty())
        return fmt::format(" has a {} that tells no version, and {}", name, wanted);
      return fmt::format(" has {} {}, and {}", name, policy::to_text(has.version), wanted);
    }
    if (is_known && !is_there) return " has no " + requirement.program + ", and " + wanted;
  }
  return std::nullopt;
}

bool KnownPrograms::has_all(const std::string& driver, const std::string& print,
                            const std::vector<policy::Requirement>& required, Micros now) const {
  if (print.empty()) return false;
  const auto root = roots_.find(Root(driver, print));
  if (root == roots_.end()) return false;
  return std::ranges::all_of(required, [&](const policy::Requirement& requirement) {
    for (const std::string& name : policy::names_of(requirement)) {
      const auto known = root->second.find(name);
      if (known == root->second.end()) return false;
      const Found& found = known->second;
      if (now - found.at >= kTrusted) return false;
      if (!found.is_there) continue;
      return requirement.comparison == policy::Comparison::any ||
             (found.was_asked && policy::is_met(requirement, found.version));
    }
    return false;
  });
}

std::string root_print(const CreateRequest& request) {
  if (!request.startup || !request.startup->requires_ || installs(*request.startup)) return "";
  if (request.workspace || !request.mounts.empty() || !request.files.empty()) return "";
  if (!request.snapshot.empty()) return "";
  std::string root;
  if (!request.template_id.empty()) {
    root = "template " + request.template_id;
  } else if (request.image.find("@sha256:") != std::string::npos) {
    root = "image " + request.image;
  } else {
    return "";
  }
  return print_of(root, request);
}

StartPrint start_print(const CreateRequest& request) {
  if (auto print = root_print(request); !print.empty()) return {std::move(print), true};
  if (!request.startup || !request.startup->requires_ || installs(*request.startup)) return {};
  const bool is_drivers_own = request.template_id.empty() && request.image.empty() &&
                              !request.root && request.snapshot.empty() && request.mounts.empty();
  if (!is_drivers_own) return {};
  return {print_of("own", request), !request.workspace && request.files.empty()};
}

std::string root_name(const CreateRequest& request) {
  if (!request.template_name.empty()) return "template " + request.template_name;
  return "image " + to_printable(request.image);
}

}  // namespace atl
