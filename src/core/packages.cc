#include "core/packages.h"

namespace atl {
namespace {

constexpr Millis kLongestInstall = std::chrono::minutes(10);

// Without a network there may be nothing to update from, and what the root brings has to do.
constexpr const char* kApt =
    R"(apt-get -qq update || [ -n "$APT_OFFLINE" ] || exit 100; exec apt-get -qq -y )"
    R"(--no-install-recommends install -- "$@")";

SetupCommand installer(std::string name, std::vector<std::string> argv,
                       const std::vector<std::string>& packages) {
  SetupCommand command{.name = std::move(name), .exec = {}, .env_offline = {}};
  command.exec.argv = std::move(argv);
  command.exec.argv.insert(command.exec.argv.end(), packages.begin(), packages.end());
  command.exec.timeout = kLongestInstall;
  command.exec.warm = Warmth::refused;
  return command;
}

}  // namespace

std::vector<std::string> pip_install() {
  return {"python3",
          "-m",
          "pip",
          "install",
          "--quiet",
          "--no-input",
          "--no-cache-dir",
          "--disable-pip-version-check",
          "--no-warn-script-location",
          "--root-user-action=ignore"};
}

std::vector<std::string> npm_install() {
  return {"npm",        "install",   "--silent",          "--no-save",
          "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"};
}

std::map<std::string, std::string> pip_offline() { return {{"PIP_NO_INDEX", "1"}}; }
std::map<std::string, std::string> npm_offline() { return {{"npm_config_offline", "true"}}; }

std::vector<SetupCommand> installers_of(const policy::Dependencies& dependencies,
                                        const std::string& user, const std::string& cwd) {
  std::vector<SetupCommand> commands;
  if (!dependencies.apt.empty()) {
    auto apt = installer("dependencies: apt", {"sh", "-c", kApt, "sh"}, dependencies.apt);
    apt.exec.user = "root";
    apt.exec.env = {{"DEBIAN_FRONTEND", "noninteractive"}};
    apt.env_offline = {{"APT_OFFLINE", "1"}};
    commands.push_back(std::move(apt));
  }
  if (!dependencies.pip.empty()) {
    auto argv = pip_install();
    argv.insert(argv.end(), {"--user", "--"});
    auto pip = installer("dependencies: pip", std::move(argv), dependencies.pip);
    // A distribution's own python refuses otherwise; the user's site is not the distribution's.
    pip.exec.env = {{"PIP_BREAK_SYSTEM_PACKAGES", "1"}};
    pip.env_offline = pip_offline();
    pip.exec.user = user;
    pip.exec.cwd = cwd;
    commands.push_back(std::move(pip));
  }
  if (!dependencies.npm.empty()) {
    auto argv = npm_install();
    argv.insert(argv.end(), {"--prefix", ".", "--"});
    auto npm = installer("dependencies: npm", std::move(argv), dependencies.npm);
    npm.env_offline = npm_offline();
    npm.exec.user = user;
    npm.exec.cwd = cwd;
    commands.push_back(std::move(npm));
  }
  return commands;
}

}  // namespace atl
