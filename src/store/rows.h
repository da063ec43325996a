// What the store keeps, as plain rows: text, whole numbers and JSON. Meaning is core's business.
//
// Times end in _ms (wall clock, since 1970) or _boot_us (Clock::boot()); zero stands for "none".
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace atl::store {

struct SandboxRow {
  std::string id;
  std::string tenant;
  std::string owner;  // the key that made it
  std::string name;   // unique per tenant among those that have not ended; "" = none
  std::string user_id;
  std::string state;
  std::string lifecycle;
  std::string driver;
  std::string isolation;
  std::string placement;
  std::string profile;
  std::string labels = "{}";     // JSON
  std::string resources = "{}";  // JSON
  std::string spec =
      "{}";  // JSON: what was asked for, never with values of the environment or stdin
  int64_t created_at_ms = 0;
  int64_t expires_at_ms = 0;
  int64_t expires_boot_us = 0;
  std::string boot_id;  // the boot that expires_boot_us belongs to
  int64_t ttl_s = 0;
  int64_t idle_s = 0;
  int64_t last_active_ms = 0;
  int64_t ended_at_ms = 0;  // nothing of it is left since then
  std::string failure;
  int64_t generation = 0;  // grows with every transition

  bool operator==(const SandboxRow&) const = default;
};

// An intent is written before anything is done about it; what is still pending at start was
// interrupted.
enum class IntentState : uint8_t { pending, done, failed, undone };

struct IntentRow {
  int64_t id = 0;
  std::string sandbox;
  int64_t generation = 0;
  std::string op;
  IntentState state = IntentState::pending;
  int64_t created_at_ms = 0;
  std::string error;

  bool operator==(const IntentRow&) const = default;
};

struct IdempotencyRow {
  std::string tenant;
  std::string key;
  std::string request_hash;
  std::string sandbox;
  int64_t expires_at_ms = 0;
  int64_t expires_boot_us = 0;
  std::string boot_id;  // the boot that expires_boot_us belongs to

  bool operator==(const IdempotencyRow&) const = default;
};

struct KeyRow {
  std::string id;
  std::string tenant;
  std::string role;
  std::string label;  // what it is for, in words
  std::string hash;   // SHA-256 of the token, in hex; the token itself is nowhere
  int64_t created_at_ms = 0;
  int64_t expires_at_ms = 0;
  int64_t last_used_at_ms = 0;

  bool operator==(const KeyRow&) const = default;
};

// What is kept of a sandbox, from the moment at which it is about to be made until nothing of it is
// left.
struct SnapshotRow {
  std::string id;
  std::string tenant;
  std::string owner;
  std::string name;  // unique per tenant among those that people see; "" = none
  std::string state;
  std::string driver;
  std::string sandbox;       // that it was taken of
  std::string facts = "{}";  // JSON
  int64_t created_at_ms = 0;

  bool operator==(const SnapshotRow&) const = default;
};

// A pool of sandboxes that somebody has made over the API.
struct PoolRow {
  std::string name;
  std::string spec = "{}";  // JSON

  bool operator==(const PoolRow&) const = default;
};

// Somebody's hold on a sandbox.
struct SessionRow {
  std::string id;
  std::string tenant;
  std::string owner;
  std::string scope;
  std::string key;
  std::string sandbox;
  int64_t created_at_ms = 0;
  int64_t expires_at_ms = 0;
  int64_t expires_boot_us = 0;
  std::string boot_id;  // the boot that expires_boot_us belongs to
  int64_t ttl_s = 0;

  bool operator==(const SessionRow&) const = default;
};

// The changes that a transaction is made of. "Put" replaces a row of the same key.
struct PutSandbox {
  SandboxRow row;
};
struct PutIntent {
  IntentRow row;
};
struct EndIntent {
  int64_t id = 0;
  IntentState state = IntentState::done;
  std::string error;
};
struct PutIdempotency {
  IdempotencyRow row;
};
// Unless the key has come to mean another sandbox.
struct DropIdempotency {
  std::string tenant;
  std::string key;
  std::string sandbox;
};
struct PutSnapshot {
  SnapshotRow row;
};
struct DropSnapshot {
  std::string id;
};
struct PutPool {
  PoolRow row;
};
struct DropPool {
  std::string name;
};
struct PutSession {
  SessionRow row;
};
struct DropSession {
  std::string id;
};
struct PutKey {
  KeyRow row;
};
struct TouchKey {
  std::string id;
  int64_t last_used_at_ms = 0;
};
struct DropKey {
  std::string id;
};
// Forgets what has ended before `ended_before_ms`, the oldest beyond `most_ended`, the intents of
// both, intents that were settled and are as old, and idempotency rows that have expired: those of
// this boot by `now_boot_us`, those of earlier ones by `now_ms`.
struct Prune {
  int64_t now_ms = 0;
  int64_t now_boot_us = 0;
  std::string boot_id = {};
  int64_t ended_before_ms = 0;
  int64_t most_ended = 0;
};

using Change = std::variant<PutSandbox, PutIntent, EndIntent, PutIdempotency, DropIdempotency,
                            PutSnapshot, DropSnapshot, PutPool, DropPool, PutSession, DropSession,
                            PutKey, TouchKey, DropKey, Prune>;

}  // namespace atl::store
