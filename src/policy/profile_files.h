// Where profiles lie: a file, or a directory with *.yaml.
#pragma once

#include <string>
#include <vector>

#include "policy/profile_reader.h"

namespace atl::policy {

inline constexpr size_t kMostProfileFiles = 200;

// Reads; what is inside is not looked at. Plain files only, so that no pipe can hold us up.
Result<std::vector<ProfileText>> read_profile_files(const std::string& path, Origin origin);
Result<ProfileText> read_profile_file(const std::string& path, Origin origin, Form form);

}  // namespace atl::policy
