// The lean precompiled header: the standard vocabulary, fmt and awaitable, which nearly every file
// needs anyway.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <tl/expected.hpp>
