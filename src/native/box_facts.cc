#include "native/box_facts.h"

#include "base/bytes.h"

namespace atl::native {

std::string encode(const BoxFacts& facts) {
  ByteWriter writer;
  writer.u8(facts.boxed ? 1 : 0);
  writer.u8(facts.rootless ? 1 : 0);
  writer.u8(facts.has_own_root ? 1 : 0);
  writer.u8(facts.has_id_lock ? 1 : 0);
  writer.u8(facts.allow_ptrace ? 1 : 0);
  writer.u32(facts.without.bits());
  writer.u8(static_cast<uint8_t>(facts.cgroup_version));
  writer.u32(static_cast<uint32_t>(facts.work_roles.size()));
  for (const uint8_t roles : facts.work_roles) writer.u8(roles);
  writer.texts(facts.copies);
  writer.texts(facts.shown);
  writer.u32(static_cast<uint32_t>(facts.rlimits.size()));
  for (const auto& limit : facts.rlimits) {
    writer.u32(static_cast<uint32_t>(limit.resource));
    writer.u64(limit.value);
  }
  writer.u64(facts.root_capabilities);
  writer.u64(facts.memory_bytes);
  writer.u32(facts.processors);
  writer.text(facts.outer_kernel);
  return std::move(writer).bytes();
}

BoxFacts facts_of(const Plan& plan) {
  BoxFacts facts;
  facts.boxed = true;
  facts.rootless = plan.authority == Authority::rootless;
  facts.has_own_root = plan.has_own_root;
  facts.allow_ptrace = plan.allow_ptrace;
  facts.without = plan.without;
  facts.cgroup_version = plan.cgroup_version;
  for (const auto& copy : plan.copy_on_write) facts.copies.push_back(copy.guest_path);
  facts.rlimits = plan.rlimits;
  facts.root_capabilities = plan.root_capabilities;
  facts.memory_bytes = plan.cgroup.memory_bytes;
  facts.processors = plan.processors;
  return facts;
}

}  // namespace atl::native
