// What requests may look like, before anything is done about them. Errors are
// Code::invalid_argument, name the field and say what would do.
#pragma once

#include "core/engine.h"

namespace atl {

inline constexpr size_t kMostLabels = 64;
inline constexpr size_t kMostText = 256;  // bytes of a user, a user id or a label's value
inline constexpr int64_t kMostCpu = 1'024;
inline constexpr int64_t kMostMemoryMb = int64_t{16} << 20;
inline constexpr int64_t kMostPids = int64_t{4} << 20;
inline constexpr int64_t kMostDiskMb = int64_t{1} << 30;
inline constexpr int64_t kMostCpuWeight = 10'000;
inline constexpr size_t kMostEnv = 1'000;
inline constexpr size_t kMostEnvBytes = 512 * 1024;
inline constexpr size_t kMostMounts = 32;
inline constexpr size_t kMostArguments = 4'096;
inline constexpr size_t kMostArgumentBytes = 1024 * 1024;
inline constexpr Millis kLongestTimeout = std::chrono::hours(30 * 24);

Result<> check_create(const CreateRequest& request, const EngineOptions& options);
Result<> check_labels(const std::map<std::string, std::string>& labels);
Result<> check_env(const std::map<std::string, std::string>& env);
Result<> check_ttl(std::chrono::seconds ttl, const EngineOptions& options);
Result<> check_queue_timeout(Millis timeout, const EngineOptions& options);
Result<> check_resources(const Resources& resources);
// What a sandbox that runs can be changed to; at least one thing, and not whose its processors are.
Result<> check_resize(const Resources& resources);
// A run ends with its command, so nothing of it waits or comes back.
Result<> check_run(const CreateRequest& request);
// Whether it may live as long as it asks.
Result<> check_lifecycle(const Caller& caller, const CreateRequest& request);
// Of one that lives on its own: whether what it leaves can be found again.
Result<> check_checkpoint(const CreateRequest& request);
Result<> check_idempotency(const Idempotency& idempotency);
// For exec in a sandbox, too: argv, env, cwd and user; not whether the command exists.
Result<> check_exec(const ExecRequest& request);

}  // namespace atl
