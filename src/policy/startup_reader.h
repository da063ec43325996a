// Reads what a profile says about the start of its sandboxes.
//
//   setup: [make deps, {run: npm ci, timeout: 5m}]
//   requires: [git, python>=3.11]
//   readiness: {port: 8080, timeout: 30s}      # or a command: curl -f localhost:8080
//   hooks: {after_start: [./serve &], before_stop: {run: ./save, timeout: 1m}}
#pragma once

#include <optional>

#include "json/value.h"
#include "policy/startup.h"

namespace atl::policy {

// Each as it stands in the file, or absent. Errors begin with the field.
Result<Startup> read_startup(const std::optional<json::Value>& setup,
                             const std::optional<json::Value>& requirements,
                             const std::optional<json::Value>& readiness,
                             const std::optional<json::Value>& hooks);

}  // namespace atl::policy
