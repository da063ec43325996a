#include "native/agent_config.h"

#include "base/bytes.h"

namespace atl::native {

std::string encode(const AgentConfig& config) {
  ByteWriter writer;
  writer.text(config.sandbox_id);
  writer.pairs(config.env);
  writer.u8(static_cast<uint8_t>(config.confinement));
  writer.u64(config.memory_bytes);
  writer.u64(config.open_files);
  writer.u64(config.ring_bytes);
  writer.u8(config.workspace_writable ? 1 : 0);
  writer.u8(config.dies_with_connection ? 1 : 0);
  writer.u8(config.parked ? 1 : 0);
  writer.text(config.warm);
  writer.u64(static_cast<uint64_t>(config.expires_at.count()));
  writer.u32(static_cast<uint32_t>(config.mounts.size()));
  for (const auto& mount : config.mounts) {
    writer.text(mount.guest_path);
    writer.u8(mount.writable ? 1 : 0);
  }
  return std::move(writer).bytes();
}

Result<AgentConfig> decode_agent_config(std::string_view bytes) {
  ByteReader reader(bytes);
  AgentConfig config;
  config.sandbox_id = reader.text();
  config.env = reader.pairs(4096);
  const uint8_t confinement = reader.u8();
  config.memory_bytes = reader.u64();
  config.open_files = reader.u64();
  config.ring_bytes = reader.u64();
  config.workspace_writable = reader.u8() == 1;
  config.dies_with_connection = reader.u8() == 1;
  config.parked = reader.u8() == 1;
  config.warm = reader.text();
  config.expires_at = Micros(reader.u64());
  const uint32_t mounts = reader.u32();
  if (mounts > kMostMounts || confinement > static_cast<uint8_t>(Confinement::tree)) {
    return Error(Code::invalid_argument, "malformed agent configuration");
  }
  config.confinement = static_cast<Confinement>(confinement);
  for (uint32_t i = 0; i < mounts; ++i) {
    AgentMount mount;
    mount.guest_path = reader.text();
    mount.writable = reader.u8() == 1;
    config.mounts.push_back(std::move(mount));
  }
  TRY_OK(reader.finish());
  return config;
}

}  // namespace atl::native
