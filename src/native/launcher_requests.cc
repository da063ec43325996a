// The daemon's half of launcher_protocol.h; the launcher itself is linked without it.
#include "base/bytes.h"
#include "native/launcher_protocol.h"

namespace atl::native {
namespace {

Error malformed() { return Error(Code::invalid_argument, "malformed launcher message"); }

template <typename Message>
Result<Message> checked(const ByteReader& reader, Message message) {
  if (!reader.finish()) return malformed();
  return message;
}

void write_box(ByteWriter& writer, const BoxRequest& box) {
  writer.u64(box.memory_bytes);
  writer.u64(box.reserved_memory_bytes);
  writer.u32(box.cpu_millis);
  writer.u32(box.cpu_weight);
  writer.u32(box.dedicated_cpus);
  writer.u64(box.pids);
  writer.u64(box.disk_bytes);
  writer.u8(box.storage == Storage::pool ? 1 : 0);
  writer.u64(box.open_files);
  writer.u8(box.allow_ptrace ? 1 : 0);
  writer.u8(box.sentry ? 1 : 0);
  writer.u8(box.has_root ? 1 : 0);
  writer.u8(box.has_workspace ? 1 : 0);
  writer.text(box.home);
  writer.u32(static_cast<uint32_t>(box.directories.size()));
  for (const auto& directory : box.directories) {
    writer.text(directory.guest_path);
    writer.u8(static_cast<uint8_t>(directory.shown));
  }
}

}  // namespace

Result<LauncherHello> decode_launcher_hello(std::string_view body) {
  ByteReader reader(body);
  LauncherHello message;
  message.version = reader.u32();
  message.program_version = reader.text();
  auto& boxes = message.boxes;
  boxes.available = reader.u8() == 1;
  boxes.rootless = reader.u8() == 1;
  boxes.reason = reader.text();
  boxes.hint = reader.text();
  const uint8_t cgroups = reader.u8();
  if (cgroups > static_cast<uint8_t>(CgroupVersion::v2)) return malformed();
  boxes.cgroup_version = static_cast<CgroupVersion>(cgroups);
  boxes.cgroup_roles = reader.u8();
  boxes.cgroup_reason = reader.text();
  boxes.dedicated = reader.u8() != 0;
  return checked(reader, std::move(message));
}

std::string encode(const LaunchRequest& message) {
  ByteWriter writer;
  writer.text(message.id);
  writer.text(message.driver);
  writer.u64(message.expires_at_us);
  writer.u8(message.has_workspace ? 1 : 0);
  writer.u32(message.mounts);
  writer.u8(message.box ? 1 : 0);
  if (message.box) write_box(writer, *message.box);
  return std::move(writer).bytes();
}

std::string encode(const RenewRequest& message) {
  ByteWriter writer;
  writer.text(message.id);
  writer.u64(message.expires_at_us);
  return std::move(writer).bytes();
}

std::string encode(const ResizeRequest& message) {
  ByteWriter writer;
  writer.text(message.id);
  writer.u64(message.limits.memory_bytes);
  writer.u64(message.limits.reserved_memory_bytes);
  writer.u32(message.limits.cpu_millis);
  writer.u32(message.limits.cpu_weight);
  writer.u64(message.limits.pids);
  return std::move(writer).bytes();
}

std::string encode_id(std::string_view id) {
  ByteWriter writer;
  writer.text(id);
  return std::move(writer).bytes();
}

Result<std::vector<LaunchedRow>> decode_rows(std::string_view body) {
  ByteReader reader(body);
  const uint32_t count = reader.u32();
  if (count > kListPage) return malformed();
  std::vector<LaunchedRow> rows;
  for (uint32_t i = 0; i < count; ++i) {
    LaunchedRow row;
    row.id = reader.text();
    row.driver = reader.text();
    row.running = reader.u8() == 1;
    rows.push_back(std::move(row));
  }
  return checked(reader, std::move(rows));
}

Result<EndedEvent> decode_ended(std::string_view body) {
  ByteReader reader(body);
  EndedEvent message;
  message.id = reader.text();
  message.cause = static_cast<EndCause>(reader.u8());
  if (message.cause > EndCause::memory) return malformed();
  return checked(reader, std::move(message));
}

Result<Error> decode_launcher_error(std::string_view body) {
  ByteReader reader(body);
  const uint8_t code = reader.u8();
  const auto number = static_cast<int>(reader.u32());
  std::string message(reader.text());
  const std::string hint(reader.text());
  if (!reader.finish() || code > static_cast<uint8_t>(Code::out_of_space)) return malformed();
  return Result<Error>(tl::in_place,
                       Error(static_cast<Code>(code), std::move(message), number).with_hint(hint));
}

}  // namespace atl::native
