// A behaviour of a sandbox as data: what it is called, which drivers promise it, and how it is
// checked.
//
// Each group is one file with one table. A check is plain sequential code against one driver; it
// uses gtest's macros, and what it makes it takes away (a Box does).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "driver/capabilities.h"
#include "tests/support/driver_world.h"

namespace atl::conformance {

// What decides whether a driver promises a behaviour.
struct Subject {
  const Capabilities& can;
  bool is_under_launcher = false;
};

struct Behaviour {
  std::string_view name;  // a sentence in snake case: "exec_reports_the_exit_code"
  void (*check)(test::DriverWorld& world) = nullptr;
  // Absent = every driver promises it.
  bool (*is_promised)(const Subject& subject) = nullptr;
  // For a driver that does not promise it: that the operation says so. Absent = there is no such
  // operation.
  void (*refusal)(test::DriverWorld& world) = nullptr;
};

struct Group {
  std::string_view name;
  std::span<const Behaviour> behaviours;
};

std::span<const Behaviour> lifecycle_behaviours();
std::span<const Behaviour> recovery_behaviours();
std::span<const Behaviour> optional_behaviours();
std::span<const Behaviour> snapshot_behaviours();
std::span<const Behaviour> exec_behaviours();
std::span<const Behaviour> process_behaviours();
std::span<const Behaviour> output_behaviours();
std::span<const Behaviour> stdin_behaviours();
std::span<const Behaviour> terminal_behaviours();
std::span<const Behaviour> signal_behaviours();
std::span<const Behaviour> file_behaviours();
std::span<const Behaviour> file_tool_behaviours();
std::span<const Behaviour> path_behaviours();
std::span<const Behaviour> limit_behaviours();
std::span<const Behaviour> isolation_behaviours();
std::span<const Behaviour> host_directory_behaviours();

// In the order of the table.
std::vector<Group> all_groups();

}  // namespace atl::conformance
