// The file: the instance that it belongs to, then entries. An entry is its length, a checksum of
// number and bytes, its number, and its bytes. Behind the newest entry lie older ones, whose
// numbers do not follow on, or zeros, whose checksum is wrong.
#include "store/boot_log.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "base/bytes.h"
#include "base/crc32.h"

namespace atl::store {
namespace {

constexpr std::string_view kMagic = "atoll boot log 1\n";
constexpr size_t kHeadSize = sizeof(uint32_t) * 2 + sizeof(uint64_t);

std::string opening(const std::string& instance) {
  ByteWriter out;
  out.raw(kMagic);
  out.text(instance);
  return std::move(out).bytes();
}

std::string to_head(uint64_t number, std::string_view bytes) {
  ByteWriter numbered;
  numbered.u64(number);
  ByteWriter out;
  out.u32(static_cast<uint32_t>(bytes.size()));
  out.u32(crc32_of(bytes, crc32_of(numbered.bytes())));
  out.raw(numbered.bytes());
  return std::move(out).bytes();
}

struct Entry {
  uint64_t number = 0;
  std::string_view bytes;
};

// Takes it off `rest`; nullopt where there is none.
std::optional<Entry> take_entry(std::string_view& rest) {
  if (rest.size() < kHeadSize) return std::nullopt;
  ByteReader head(rest.substr(0, kHeadSize));
  const uint32_t length = head.u32();
  const uint32_t checksum = head.u32();
  const uint64_t number = head.u64();
  if (length > rest.size() - kHeadSize) return std::nullopt;
  const auto checked = rest.substr(2 * sizeof(uint32_t), sizeof number + length);
  if (number == 0 || crc32_of(checked) != checksum) return std::nullopt;
  const Entry entry{number, rest.substr(kHeadSize, length)};
  rest.remove_prefix(kHeadSize + length);
  return entry;
}

Result<> write_at(const Fd& file, std::string_view bytes, size_t at, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return os_error("writing the boot log", path);
    bytes.remove_prefix(static_cast<size_t>(written));
    at += static_cast<size_t>(written);
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> BootLog::read(const std::string& path, const std::string& instance,
                                               uint64_t taken) {
  std::vector<std::string> entries;
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno == ENOENT) return entries;
  if (!file) return os_error("opening the boot log", path);
  std::string bytes(kSize, '\0');
  size_t length = 0;
  while (length < bytes.size()) {
    const ssize_t got = ::pread(file.get(), bytes.data() + length, bytes.size() - length,
                                static_cast<off_t>(length));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error("reading the boot log", path);
    if (got == 0) break;
    length += static_cast<size_t>(got);
  }
  std::string_view rest = std::string_view(bytes).substr(0, length);
  const std::string ours = opening(instance);
  if (!rest.starts_with(ours)) return entries;
  rest.remove_prefix(ours.size());
  uint64_t last = 0;
  while (const auto entry = take_entry(rest)) {
    if (last != 0 && entry->number != last + 1) break;
    last = entry->number;
    if (last <= taken) continue;
    if (entries.empty() && last != taken + 1) break;
    entries.emplace_back(entry->bytes);
  }
  return entries;
}

Result<std::unique_ptr<BootLog>> BootLog::create(std::string path, const std::string& instance,
                                                 uint64_t taken) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return os_error("removing", path);
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return os_error("making the boot log", path);
  if (const int failed = ::posix_fallocate(file.get(), 0, kSize); failed != 0) {
    ::unlink(path.c_str());
    return os_error_from(failed, "making room for the boot log", path);
  }
  const std::string head = opening(instance);
  TRY_OK(write_at(file, head, 0, path));
  return std::unique_ptr<BootLog>(
      new BootLog(std::move(path), std::move(file), head.size(), taken));
}

Result<> BootLog::append(std::string_view bytes) {
  if (bytes.size() > kSize - kHeadSize || end_ > kSize - kHeadSize - bytes.size()) {
    return Error(Code::out_of_space, "the boot log is full");
  }
  const std::string head = to_head(last_ + 1, bytes);
  const std::array<iovec, 2> parts = {iovec{const_cast<char*>(head.data()), head.size()},
                                      iovec{const_cast<char*>(bytes.data()), bytes.size()}};
  const size_t length = head.size() + bytes.size();
  const ssize_t written =
      ::pwritev(file_.get(), parts.data(), parts.size(), static_cast<off_t>(end_));
  // What a signal or a quota has cut short is as good as nothing: the next entry lies over it.
  if (written < 0) return os_error("writing the boot log", path_);
  if (static_cast<size_t>(written) != length)
    return Error(Code::out_of_space, "the boot log is cut short");
  end_ += length;
  ++last_;
  return {};
}

void BootLog::remove() { ::unlink(path_.c_str()); }

}  // namespace atl::store
