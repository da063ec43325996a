// How a sandbox is started up as its profile says: setup, what it requires, hooks, readiness.
//
// It runs in the sandbox, which is not trusted: what it says decides about that sandbox alone, or,
// of the programs that are there, about those from the very same root (core/known_programs.h). At
// most 64 KiB of it are looked at.
#pragma once

#include "core/parts.h"
#include "policy/startup.h"

namespace atl {

// What a start knows about its sandbox.
struct StartupFacts {
  ExecDefaults defaults;  // who the commands run as, and where
  NetworkControl network = NetworkControl::none;
  bool is_restored = false;  // from a snapshot, in which the setup has been done
  // How much of the start is done already, in the layer that it was made from; and how much of it
  // is kept for the next one by calling `keep`, which says in words what came of it.
  policy::Layer has = policy::Layer::none;
  policy::Layer keeps = policy::Layer::none;
  std::function<Task<std::string>()> keep = {};
  std::string why_no_layer = {};  // what is told beside the installing
  bool goes_on = false;           // with the processes of a snapshot, which have started long ago
  // Where it is remembered which of the required programs are there; null = nowhere.
  KnownPrograms* known = nullptr;
  std::string driver = {};
  StartPrint root = {};
};

// `from` is what it was made from; null = nothing.
StartupFacts startup_facts(Parts& parts, const SandboxRecord& record, const SnapshotView* from);

// Marks the stages "dependencies", "layer", "setup", "requires", "after_start" and "readiness", and
// fails in one of them with what was said last. Code::unsupported for what is required and not
// there, Code::deadline_exceeded for what takes too long.
Task<> start_up(Guest& guest, std::shared_ptr<const policy::Startup> startup,  // awaited at once
                StartupFacts facts, const Clock& clock, telemetry::StageTimer& timer);

}  // namespace atl
