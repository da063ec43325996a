// A directory, under /tmp unless told otherwise, that goes away with all its contents when its
// owner does.
#pragma once

#include <string>
#include <string_view>

namespace atl::test {

class TempDirectory final {
 public:
  // Mode 0711, so that a sandbox can walk through it without seeing what is there.
  explicit TempDirectory(const std::string& parent = "/tmp");
  ~TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

}  // namespace atl::test
