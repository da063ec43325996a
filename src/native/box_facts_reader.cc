// The agent's half of box_facts.h; the launcher only writes them.
#include "base/bytes.h"
#include "native/box_facts.h"

namespace atl::native {
namespace {

constexpr size_t kMostCopies = 32;
constexpr size_t kMostLimits = 32;

}  // namespace

Result<BoxFacts> decode_box_facts(std::string_view bytes) {
  ByteReader reader(bytes);
  BoxFacts facts;
  facts.boxed = reader.u8() == 1;
  facts.rootless = reader.u8() == 1;
  facts.has_own_root = reader.u8() == 1;
  facts.has_id_lock = reader.u8() == 1;
  facts.allow_ptrace = reader.u8() == 1;
  facts.without = LayerSet(reader.u32());
  const uint8_t version = reader.u8();
  const uint32_t trees = reader.u32();
  const Error malformed(Code::invalid_argument, "malformed facts about the sandbox");
  if (version > static_cast<uint8_t>(CgroupVersion::v2) || trees > kMostCgroupTrees)
    return malformed;
  facts.cgroup_version = static_cast<CgroupVersion>(version);
  for (uint32_t i = 0; i < trees; ++i) facts.work_roles.push_back(reader.u8());
  facts.copies = reader.texts(kMostCopies);
  facts.shown = reader.texts(kMostCopies);
  const uint32_t limits = reader.u32();
  if (limits > kMostLimits) return malformed;
  for (uint32_t i = 0; i < limits; ++i) {
    const auto resource = static_cast<int>(reader.u32());
    facts.rlimits.push_back({resource, reader.u64()});
  }
  facts.root_capabilities = reader.u64();
  facts.memory_bytes = reader.u64();
  facts.processors = reader.u32();
  facts.outer_kernel = reader.text();
  TRY_OK(reader.finish());
  return facts;
}

}  // namespace atl::native
