// atoll: the command line and the daemon in one program.
#include <signal.h>

#include <cstdio>
#include <string>
#include <vector>

#include "app/embedded.h"
#include "app/programs.h"
#include "app/serve.h"
#include "cli/verb.h"

namespace {

using namespace atl;

class Atoll final : public cli::Program {
 public:
  Result<> serve(cli::ServeOptions options) override { return app::serve(std::move(options)); }
  Result<std::unique_ptr<cli::LocalEngine>> open_engine() override {
    return app::open_embedded_engine();
  }
  Result<std::string> find_libexec() override { return app::find_libexec(); }
};

}  // namespace

int main(int argc, char** argv) {
  // Whoever reads our output may leave at any time; writes then fail, and each verb knows what that
  // means.
  signal(SIGPIPE, SIG_IGN);
  Atoll program;
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  const int code = cli::run_command_line(program, arguments);
  std::fflush(nullptr);
  return code;
}
