#include "native/launcher_protocol.h"

#include "base/bytes.h"
#include "native/agent_places.h"

namespace atl::native {
namespace {

Error malformed() { return Error(Code::invalid_argument, "malformed launcher message"); }

template <typename Message>
Result<Message> checked(const ByteReader& reader, Message message) {
  if (!reader.finish()) return malformed();
  return message;
}

Result<BoxRequest> read_box(ByteReader& reader) {
  BoxRequest box;
  box.memory_bytes = reader.u64();
  box.reserved_memory_bytes = reader.u64();
  box.cpu_millis = reader.u32();
  box.cpu_weight = reader.u32();
  box.dedicated_cpus = reader.u32();
  box.pids = reader.u64();
  box.disk_bytes = reader.u64();
  box.storage = reader.u8() == 1 ? Storage::pool : Storage::memory;
  box.open_files = reader.u64();
  box.allow_ptrace = reader.u8() == 1;
  box.sentry = reader.u8() == 1;
  box.has_root = reader.u8() == 1;
  box.has_workspace = reader.u8() == 1;
  box.home = reader.text();
  const uint32_t directories = reader.u32();
  if (directories > kMostMounts + 1) return malformed();
  for (uint32_t i = 0; i < directories; ++i) {
    BoxDirectory directory;
    directory.guest_path = reader.text();
    const uint8_t shown = reader.u8();
    if (shown > static_cast<uint8_t>(ShownAs::cow)) return malformed();
    directory.shown = static_cast<ShownAs>(shown);
    box.directories.push_back(std::move(directory));
  }
  return box;
}

}  // namespace

std::string encode_packet(uint32_t request, Operation operation, std::string_view body) {
  ByteWriter writer;
  writer.u32(request);
  writer.u8(static_cast<uint8_t>(operation));
  writer.raw(body);
  return std::move(writer).bytes();
}

Result<Packet> decode_packet(std::string_view bytes) {
  ByteReader reader(bytes);
  Packet packet;
  packet.request = reader.u32();
  packet.operation = static_cast<Operation>(reader.u8());
  packet.body = reader.raw();
  return checked(reader, packet);
}

std::string encode(const LauncherHello& message) {
  ByteWriter writer;
  writer.u32(message.version);
  writer.text(message.program_version);
  const auto& boxes = message.boxes;
  writer.u8(boxes.available ? 1 : 0);
  writer.u8(boxes.rootless ? 1 : 0);
  writer.text(boxes.reason);
  writer.text(boxes.hint);
  writer.u8(static_cast<uint8_t>(boxes.cgroup_version));
  writer.u8(boxes.cgroup_roles);
  writer.text(boxes.cgroup_reason);
  writer.u8(boxes.dedicated ? 1 : 0);
  return std::move(writer).bytes();
}

uint32_t decode_client_version(std::string_view body) { return ByteReader(body).u32(); }

Result<LaunchRequest> decode_launch(std::string_view body) {
  ByteReader reader(body);
  LaunchRequest message;
  message.id = reader.text();
  message.driver = reader.text();
  message.expires_at_us = reader.u64();
  message.has_workspace = reader.u8() == 1;
  message.mounts = reader.u32();
  if (reader.u8() == 1) {
    TRY(message.box, read_box(reader));
  }
  return checked(reader, std::move(message));
}

Result<RenewRequest> decode_renew(std::string_view body) {
  ByteReader reader(body);
  RenewRequest message;
  message.id = reader.text();
  message.expires_at_us = reader.u64();
  return checked(reader, std::move(message));
}

Result<ResizeRequest> decode_resize(std::string_view body) {
  ByteReader reader(body);
  ResizeRequest message;
  message.id = reader.text();
  message.limits.memory_bytes = reader.u64();
  message.limits.reserved_memory_bytes = reader.u64();
  message.limits.cpu_millis = reader.u32();
  message.limits.cpu_weight = reader.u32();
  message.limits.pids = reader.u64();
  return checked(reader, std::move(message));
}

Result<std::string> decode_id(std::string_view body) {
  ByteReader reader(body);
  std::string id(reader.text());
  return checked(reader, std::move(id));
}

std::string encode(const std::vector<LaunchedRow>& rows) {
  ByteWriter writer;
  writer.u32(static_cast<uint32_t>(rows.size()));
  for (const auto& row : rows) {
    writer.text(row.id);
    writer.text(row.driver);
    writer.u8(row.running ? 1 : 0);
  }
  return std::move(writer).bytes();
}

std::string encode(const EndedEvent& message) {
  ByteWriter writer;
  writer.text(message.id);
  writer.u8(static_cast<uint8_t>(message.cause));
  return std::move(writer).bytes();
}

std::string encode_launcher_error(const Error& error) {
  ByteWriter writer;
  writer.u8(static_cast<uint8_t>(error.code()));
  writer.u32(static_cast<uint32_t>(error.os_errno()));
  writer.text(error.message());
  writer.text(error.hint());
  return std::move(writer).bytes();
}

}  // namespace atl::native
