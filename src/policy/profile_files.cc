#include "policy/profile_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "os/file.h"

namespace atl::policy {

Result<ProfileText> read_profile_file(const std::string& path, Origin origin, Form form) {
  TRY(const auto file, os::open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat info{};
  if (fstat(file.get(), &info) != 0) return os_error("looking at", to_printable(path));
  if (!S_ISREG(info.st_mode)) {
    return Error(Code::invalid_argument, to_printable(path) + " is no plain file");
  }
  auto text = os::read_open_file(file.get(), kLargestProfileFile);
  if (!text) return std::move(text).error().with(to_printable(path));
  return ProfileText{to_printable(path), *std::move(text), origin, form};
}

Result<std::vector<ProfileText>> read_profile_files(const std::string& path, Origin origin) {
  std::error_code trouble;
  std::vector<ProfileText> texts;
  if (!std::filesystem::is_directory(path, trouble)) {
    TRY(auto text, read_profile_file(path, origin, Form::profile_file));
    texts.push_back(std::move(text));
    return texts;
  }
  std::vector<std::string> files;
  std::filesystem::directory_iterator entries(path, trouble);
  for (; !trouble && entries != std::filesystem::directory_iterator(); entries.increment(trouble)) {
    const std::string name = entries->path().filename().string();
    if (name.starts_with('.') || !(name.ends_with(".yaml") || name.ends_with(".yml"))) continue;
    if (files.size() == kMostProfileFiles) {
      return Error(Code::too_large, to_printable(path) + " has more than 200 files of profiles");
    }
    files.push_back(entries->path().string());
  }
  if (trouble) return os_error_from(trouble.value(), "listing " + to_printable(path));
  std::ranges::sort(files);
  for (const std::string& file : files) {
    TRY(auto text, read_profile_file(file, origin, Form::profile_file));
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace atl::policy
