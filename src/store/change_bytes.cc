#include "store/change_bytes.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/check.h"

namespace atl::store {
namespace {

// What a change begins with. Numbers stay what they are: a log may be read by a newer program.
enum class Tag : uint8_t {
  put_sandbox = 1,
  put_intent = 2,
  end_intent = 3,
  put_key_of_wall = 4,  // put_idempotency of older programs, which knew the wall's clock alone
  drop_idempotency = 5,
  put_idempotency = 6,
};

// Every field of a row once, for both ways.
template <typename Row>
auto texts_of(Row& row) {
  return std::array{&row.id,        &row.tenant,    &row.owner,     &row.name,
                    &row.user_id,   &row.state,     &row.lifecycle, &row.driver,
                    &row.isolation, &row.placement, &row.profile,   &row.labels,
                    &row.resources, &row.spec,      &row.boot_id,   &row.failure};
}

template <typename Row>
auto numbers_of(Row& row) {
  return std::array{&row.created_at_ms, &row.expires_at_ms,  &row.expires_boot_us, &row.ttl_s,
                    &row.idle_s,        &row.last_active_ms, &row.ended_at_ms,     &row.generation};
}

void write(ByteWriter& out, const PutSandbox& put) {
  out.u8(static_cast<uint8_t>(Tag::put_sandbox));
  for (const std::string* text : texts_of(put.row)) out.text(*text);
  for (const int64_t* number : numbers_of(put.row)) out.i64(*number);
}

void write(ByteWriter& out, const PutIntent& put) {
  out.u8(static_cast<uint8_t>(Tag::put_intent));
  out.i64(put.row.id);
  out.text(put.row.sandbox);
  out.i64(put.row.generation);
  out.text(put.row.op);
  out.u8(static_cast<uint8_t>(put.row.state));
  out.i64(put.row.created_at_ms);
  out.text(put.row.error);
}

void write(ByteWriter& out, const EndIntent& end) {
  out.u8(static_cast<uint8_t>(Tag::end_intent));
  out.i64(end.id);
  out.u8(static_cast<uint8_t>(end.state));
  out.text(end.error);
}

void write(ByteWriter& out, const PutIdempotency& put) {
  out.u8(static_cast<uint8_t>(Tag::put_idempotency));
  out.text(put.row.tenant);
  out.text(put.row.key);
  out.text(put.row.request_hash);
  out.text(put.row.sandbox);
  out.i64(put.row.expires_at_ms);
  out.i64(put.row.expires_boot_us);
  out.text(put.row.boot_id);
}

void write(ByteWriter& out, const DropIdempotency& drop) {
  out.u8(static_cast<uint8_t>(Tag::drop_idempotency));
  out.text(drop.tenant);
  out.text(drop.key);
  out.text(drop.sandbox);
}

void write(ByteWriter&, const auto&) { ATOLL_CHECK(false); }

IntentState read_state(ByteReader& in) {
  // What is beyond the last one is one that a newer program has.
  return static_cast<IntentState>(std::min(in.u8(), static_cast<uint8_t>(IntentState::undone)));
}

Change read_sandbox(ByteReader& in) {
  PutSandbox put;
  for (std::string* text : texts_of(put.row)) *text = in.text();
  for (int64_t* number : numbers_of(put.row)) *number = in.i64();
  return put;
}

Change read_intent(ByteReader& in) {
  PutIntent put;
  put.row.id = in.i64();
  put.row.sandbox = in.text();
  put.row.generation = in.i64();
  put.row.op = in.text();
  put.row.state = read_state(in);
  put.row.created_at_ms = in.i64();
  put.row.error = in.text();
  return put;
}

Change read_end(ByteReader& in) {
  EndIntent end;
  end.id = in.i64();
  end.state = read_state(in);
  end.error = in.text();
  return end;
}

PutIdempotency read_key_of_wall(ByteReader& in) {
  PutIdempotency put;
  put.row.tenant = in.text();
  put.row.key = in.text();
  put.row.request_hash = in.text();
  put.row.sandbox = in.text();
  put.row.expires_at_ms = in.i64();
  return put;
}

Change read_idempotency(ByteReader& in) {
  PutIdempotency put = read_key_of_wall(in);
  put.row.expires_boot_us = in.i64();
  put.row.boot_id = in.text();
  return put;
}

Change read_drop(ByteReader& in) {
  DropIdempotency drop;
  drop.tenant = in.text();
  drop.key = in.text();
  drop.sandbox = in.text();
  return drop;
}

}  // namespace

bool is_sure(const Change& change) {
  if (const auto* put = std::get_if<PutSandbox>(&change)) return put->row.name.empty();
  return std::holds_alternative<PutIntent>(change) || std::holds_alternative<EndIntent>(change) ||
         std::holds_alternative<PutIdempotency>(change) ||
         std::holds_alternative<DropIdempotency>(change);
}

std::string to_bytes(const std::vector<Change>& changes) {
  ByteWriter out;
  out.u32(static_cast<uint32_t>(changes.size()));
  for (const auto& change : changes) {
    std::visit([&](const auto& what) { write(out, what); }, change);
  }
  return std::move(out).bytes();
}

Result<std::vector<Change>> changes_from(std::string_view bytes) {
  std::vector<Change> changes;
  ByteReader in(bytes);
  for (uint32_t left = in.u32(); left > 0; --left) {
    switch (static_cast<Tag>(in.u8())) {
      case Tag::put_sandbox:
        changes.push_back(read_sandbox(in));
        continue;
      case Tag::put_intent:
        changes.push_back(read_intent(in));
        continue;
      case Tag::end_intent:
        changes.push_back(read_end(in));
        continue;
      case Tag::put_key_of_wall:
        changes.push_back(read_key_of_wall(in));
        continue;
      case Tag::put_idempotency:
        changes.push_back(read_idempotency(in));
        continue;
      case Tag::drop_idempotency:
        changes.push_back(read_drop(in));
        continue;
    }
    return Error(Code::internal, "it holds a change that this program does not know");
  }
  TRY_OK(in.finish());
  return changes;
}

}  // namespace atl::store
