// Whether the name of a variable or a setting says that its value is secret.
#pragma once

#include <string_view>

namespace atl {

// "AWS_SECRET_ACCESS_KEY", "password", "apiToken".
bool names_a_secret(std::string_view name);

}  // namespace atl
