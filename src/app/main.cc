// atoll: the command line and the daemon in one program.
#include <fcntl.h>
#include <signal.h>

#include <cstdio>
#include <string>
#include <vector>

#include "app/embedded.h"
#include "app/programs.h"
#include "app/serve.h"
#include "cli/report.h"
#include "cli/verb.h"
#include "drivers/extension/grants.h"
#include "drivers/registry.h"

namespace {

using namespace atl;

class Atoll final : public cli::Program {
 public:
  Result<> serve(cli::ServeOptions options) override { return app::serve(std::move(options)); }
  Result<std::unique_ptr<cli::LocalEngine>> open_engine(
      std::shared_ptr<const policy::Profiles> profiles) override {
    return app::open_embedded_engine(std::move(profiles), state_directory_);
  }
  Result<std::string> find_libexec() override { return app::find_libexec(); }
  std::vector<std::string> driver_names() override {
    std::vector<std::string> names;
    for (const drivers::Entry& entry : drivers::all()) names.emplace_back(entry.name);
    if (state_directory_.empty()) return names;
    for (auto& grant : extension::read_grants(state_directory_, drivers::reserved_names()).grants)
      names.push_back(std::move(grant.manifest.name));
    return names;
  }
  void use_state(std::string directory) override { state_directory_ = std::move(directory); }

 private:
  std::string state_directory_;
};

// Whoever starts us may have closed one of these. The next descriptor that is opened would take its
// place, and go into a sandbox as its stdin or stdout. A stdout that cannot be written to says so
// when something is to be written: output must not be lost in silence.
bool open_missing_stdio() {
  for (int number = 0; number < 3; ++number) {
    if (fcntl(number, F_GETFD) >= 0) continue;
    if (open("/dev/null", number == 2 ? O_WRONLY : O_RDONLY) != number) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (!open_missing_stdio()) return cli::kExitAtollFailed;
  // Whoever reads our output may leave at any time; writes then fail, and each verb knows what that
  // means.
  signal(SIGPIPE, SIG_IGN);
  Atoll program;
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  const int code = cli::run_command_line(program, arguments);
  std::fflush(nullptr);
  return code;
}
