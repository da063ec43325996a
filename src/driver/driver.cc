#include "driver/driver.h"

namespace atl {
namespace {

Error lacking(std::string_view what) {
  return Error(Code::unsupported, "this driver cannot " + std::string(what));
}

}  // namespace

Task<> Sandbox::pause() { co_return lacking("pause"); }
Task<> Sandbox::resume() { co_return lacking("resume"); }
Task<std::string> Sandbox::snapshot(std::string) { co_return lacking("snapshot"); }
Task<std::vector<std::string>> Sandbox::fork(std::vector<SandboxSpec>) {
  co_return lacking("fork");
}
Task<> Sandbox::resize(Resources) { co_return lacking("resize"); }

Task<std::string> Driver::explain(SandboxSpec) {
  co_return Error(Code::unsupported, std::string(name()) + " cannot explain what it would do");
}

std::string Driver::reserve(const SandboxSpec&) { return ""; }

}  // namespace atl
