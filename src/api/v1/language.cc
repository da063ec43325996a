#include "api/v1/language.h"

#include <algorithm>

#include "base/text.h"
#include "core/packages.h"
#include "policy/dependencies.h"

namespace atl::api::v1 {
namespace {

constexpr Millis kInstallTimeout = std::chrono::minutes(5);
// Beside the code; python makes it absolute before the code begins.
constexpr std::string_view kPythonPackages = ".packages";

constexpr Language kLanguages[] = {
    {"python", "python3 py", "python3", "main.py"},
    {"javascript", "js node nodejs", "node", "main.js"},
    {"bash", "", "bash", "main.sh"},
    {"sh", "shell", "sh", "main.sh"},
    {"perl", "pl", "perl", "main.pl"},
    {"ruby", "rb", "ruby", "main.rb"},
    {"php", "", "php", "main.php"},
    {"lua", "", "lua", "main.lua"},
    {"r", "rscript", "Rscript", "main.R"},
};

Error invalid(std::string_view field, std::string_view problem) {
  return Error(Code::invalid_argument, std::string(field) + ": " + std::string(problem))
      .at_stage("request");
}

bool is_called(const Language& language, std::string_view name) {
  if (language.name == name) return true;
  const auto others = split(language.others, ' ');
  return std::ranges::find(others, name) != others.end();
}

// None is an option of the installer: those could make it read and write elsewhere.
Result<> check_requirements(const std::vector<std::string>& requirements) {
  if (requirements.size() > kMostRequirements)
    return invalid("requirements", "there are " + std::to_string(requirements.size()) +
                                       ", at most " + std::to_string(kMostRequirements) +
                                       " are allowed");
  for (const auto& requirement : requirements) {
    if (requirement.starts_with('-'))
      return invalid("requirements", "'" + to_printable(requirement.substr(0, 80)) +
                                         "' is an option, and packages are named");
    if (!policy::is_package(requirement)) {
      return invalid("requirements", "each is a line of 1 to 500 bytes")
          .with_hint(R"(name packages: ["requests>=2", "./my_wheel-1.0-py3-none-any.whl"])");
    }
  }
  return {};
}

Packages python_packages() {
  Packages packages;
  auto& argv = packages.setup.exec.argv = pip_install();
  argv.insert(argv.end(), {"--target", std::string(kPythonPackages), "--"});
  packages.setup.env_offline = pip_offline();
  packages.env = {{"PYTHONPATH", std::string(kPythonPackages)}};
  return packages;
}

Packages node_packages() {
  Packages packages;
  auto& argv = packages.setup.exec.argv = npm_install();
  argv.insert(argv.end(), {"--prefix", ".", "--"});
  packages.setup.env_offline = npm_offline();
  return packages;
}

}  // namespace

std::span<const Language> all_languages() { return kLanguages; }

Result<const Language*> find_language(std::string_view name) {
  const auto found =
      std::ranges::find_if(kLanguages, [&](const auto& one) { return is_called(one, name); });
  if (found != std::end(kLanguages)) return &*found;
  std::string known;
  for (const auto& one : kLanguages) known += (known.empty() ? "" : ", ") + std::string(one.name);
  return invalid("language", "none is called " + to_printable(name.substr(0, 80)))
      .with_hint("known: " + known + "; anything else can be run by exec.argv");
}

Result<Packages> get_packages(const Language& language, std::vector<std::string> requirements) {
  TRY_OK(check_requirements(requirements));
  const bool is_python = language.name == "python";
  if (!is_python && language.name != "javascript") {
    return Error(Code::unsupported,
                 "requirements: nothing is known about packages of " + std::string(language.name))
        .with_hint("they are for python and javascript; send what the code needs in files")
        .at_stage("request");
  }
  Packages packages = is_python ? python_packages() : node_packages();
  packages.setup.name = "requirements";
  packages.setup.exec.timeout = kInstallTimeout;
  packages.setup.exec.warm = Warmth::refused;
  for (auto& requirement : requirements) packages.setup.exec.argv.push_back(std::move(requirement));
  return packages;
}

}  // namespace atl::api::v1
