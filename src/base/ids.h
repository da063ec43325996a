// Names of things: random ids, and the rules for names that users choose.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace atl {

// Fills from the kernel's generator; cannot fail on a kernel that we support.
void fill_random(std::span<uint8_t> bytes);

// Lower-case letters and digits, `length` of them, uniformly random (5.17 bits each).
std::string random_name(size_t length);

// "sbx" and 20 characters: a DNS label, never reused.
std::string make_sandbox_id();
bool is_sandbox_id(std::string_view text);

// "snp" and 20 characters: what is kept of a sandbox.
std::string make_snapshot_id();
bool is_snapshot_id(std::string_view text);
// As for a sandbox.
Result<> check_snapshot_name(std::string_view name);

// "ses" and 20 characters: somebody's hold on a sandbox.
std::string make_session_id();

std::string make_request_id();  // "req" and 16 characters
std::string make_trace_id();    // 32 hex digits, as W3C traceparent has them

inline constexpr size_t kLongestSandboxName = 63;

// A name that a user gives to a sandbox: 1 to 63 of [a-z0-9-], not at either end a dash, not of the
// form of an id.
Result<> check_sandbox_name(std::string_view name);

std::string to_hex(std::span<const uint8_t> bytes);

}  // namespace atl
