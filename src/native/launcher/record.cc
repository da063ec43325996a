#include "native/launcher/record.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "native/agent_places.h"
#include "os/file.h"

namespace atl::native {
namespace {

constexpr uint32_t kRecordVersion = 3;
constexpr uint32_t kWithoutPool = 2;  // what a launcher before the storage pool wrote
constexpr size_t kLargestRecord = 4096;

}  // namespace

Result<> save_record(int sandbox_directory, const Record& record) {
  ByteWriter writer;
  writer.u32(kRecordVersion);
  writer.text(record.id);
  writer.text(record.driver);
  writer.text(record.boot_id);
  writer.u64(static_cast<uint64_t>(record.pid));
  writer.u64(record.start_ticks);
  writer.text(record.token);
  writer.i64(record.expires_at.count());
  writer.u8(record.boxed ? 1 : 0);
  writer.text(record.processors);
  writer.u64(record.pool_bytes);
  // One that is there already, and as long, differs in a moment: written in place, which nobody can
  // see half done, at a tenth of what another file costs.
  const auto& bytes = writer.bytes();
  auto present = os::open_at(sandbox_directory, kRecordFile, O_WRONLY | O_NOFOLLOW);
  struct stat info{};
  if (present && fstat(present->get(), &info) == 0 &&
      info.st_size == static_cast<off_t>(bytes.size()) &&
      pwrite(present->get(), bytes.data(), bytes.size(), 0) == info.st_size) {
    return {};
  }
  return os::replace_file(sandbox_directory, kRecordFile, bytes, 0600);
}

Result<Record> load_record(int sandbox_directory) {
  TRY(auto bytes, os::read_file(sandbox_directory, kRecordFile, kLargestRecord));
  ByteReader reader(bytes);
  const uint32_t version = reader.u32();
  Record record;
  record.id = reader.text();
  record.driver = reader.text();
  record.boot_id = reader.text();
  record.pid = static_cast<pid_t>(reader.u64());
  record.start_ticks = reader.u64();
  record.token = reader.text();
  record.expires_at = Micros(reader.i64());
  record.boxed = reader.u8() == 1;
  record.processors = reader.text();
  if (version != kWithoutPool) record.pool_bytes = reader.u64();
  TRY_OK(reader.finish());
  const bool is_known = version == kRecordVersion || version == kWithoutPool;
  if (!is_known || record.pid <= 1 || record.token.size() != kTokenBytes) {
    return Error(Code::invalid_argument, "a sandbox's record is malformed");
  }
  return record;
}

}  // namespace atl::native
