// Arbitrary bytes as an archive: whatever is handed out stays below its directory.
#include <cstdint>
#include <cstdlib>

#include "base/tar.h"

namespace {

class Judge final : public atl::TarSink {
 public:
  atl::Result<> begin(const atl::TarEntry& entry) override {
    const std::string path = "/" + entry.path + "/";
    if (entry.path.starts_with('/') || path.find("/../") != std::string::npos) std::abort();
    if (entry.path.find('\0') != std::string::npos || entry.mode > 0777) std::abort();
    if (entry.kind == atl::TarKind::symlink && entry.link_target.starts_with('/')) std::abort();
    left_ = entry.size;
    return {};
  }
  atl::Result<> bytes(std::string_view bytes) override {
    if (bytes.size() > left_) std::abort();
    left_ -= bytes.size();
    return {};
  }
  atl::Result<> end() override {
    if (left_ != 0) std::abort();
    return {};
  }

 private:
  uint64_t left_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Judge judge;
  atl::TarReader reader(judge);
  const size_t piece = size > 0 ? data[0] + 1u : 1u;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    if (!reader.put(bytes.substr(at, piece))) return 0;
  }
  static_cast<void>(reader.finish());
  return 0;
}
