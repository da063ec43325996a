// What the engine and the API say, in the words of the command line.
//
// Their errors name the fields of a request ("ttl_s: 0 is no time …"), and their hints may name
// routes and headers. Whoever typed `--ttl 0` has seen neither.
#pragma once

#include "base/error.h"

namespace atl::cli {

// The same error: fields become flags, and a hint about HTTP becomes one about a command, or goes.
Error in_flag_words(const Error& error);

// Whether it refuses a time that a flag gave, which is a usage error whoever notices.
bool is_about_time(const Error& error);

}  // namespace atl::cli
