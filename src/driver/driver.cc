#include "driver/driver.h"

namespace atl {
namespace {

Error lacking(std::string_view what) {
  return Error(Code::unsupported, "this driver cannot " + std::string(what));
}

}  // namespace

Task<> Sandbox::pause() { co_return lacking("pause"); }
Task<> Sandbox::resume() { co_return lacking("resume"); }
Task<> Sandbox::resize(Resources) { co_return lacking("resize"); }

Task<std::string> Driver::explain(SandboxSpec) {
  co_return Error(Code::unsupported, std::string(name()) + " cannot explain what it would do");
}

std::string Driver::reserve(const SandboxSpec&) { return ""; }

Task<std::vector<std::string>> Driver::list_snapshots() { co_return std::vector<std::string>{}; }

Task<std::vector<std::string>> Driver::list_broken_snapshots() {
  co_return std::vector<std::string>{};
}
Task<SnapshotFacts> Driver::snapshot(Sandbox&, SnapshotRequest) { co_return lacking("snapshot"); }
Task<std::vector<std::string>> Driver::list_doubtful_snapshots() {
  co_return std::vector<std::string>{};
}

Task<> Driver::forget_templates(std::function<bool(const std::string&)>) { co_return Result<>(); }

Task<> Driver::drop_snapshot(std::string) { co_return Result<>(); }
Task<> Driver::fork(Sandbox&, std::vector<SandboxSpec>, SnapshotRequest) {
  co_return lacking("fork");
}

Task<> fork_by_snapshot(Driver& driver, Sandbox& parent, std::vector<SandboxSpec> children,
                        SnapshotRequest by) {
  CO_TRY([[maybe_unused]] const auto kept, co_await driver.snapshot(parent, by));
  std::vector<std::string> made;
  for (auto& child : children) {
    child.snapshot = by.id;
    const std::string id = child.id;
    auto sandbox = co_await driver.create(std::move(child));
    if (sandbox) {
      made.push_back(id);
      continue;
    }
    for (const auto& one : made) {
      // What stays is in list(), and the sweeper destroys it.
      const auto dropped = co_await driver.destroy_orphan(one);
      (void)dropped;
    }
    co_return std::move(sandbox).error();
  }
  co_return Result<>();
}

Task<std::unique_ptr<Sandbox>> make_anew(Driver& driver, std::shared_ptr<Sandbox> sandbox,
                                         SandboxSpec spec, std::function<Result<>()> may_begin) {
  if (sandbox) {
    CO_TRY_OK(co_await sandbox->destroy());
  } else {
    // Half of one may be left of a creation or a destruction that was interrupted.
    CO_TRY_OK(co_await driver.destroy_orphan(spec.id));
  }
  CO_TRY_OK(may_begin());
  co_return co_await driver.create(std::move(spec));
}

}  // namespace atl
