// `--here`: how the current directory appears in the sandbox, which depends on what the driver can
// do.
//
// Copy-on-write is what people want: the command may write, and their files stay as they were.
// Where no driver that may serve the request can do that, plain `--here` falls to read-only and
// says so; it never falls to writing into the user's files, which takes an explicit `--here=rw`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/v1/sandbox_wire.h"
#include "base/result.h"

namespace atl::cli {

using api::v1::WireCreate;
using api::v1::WireHostDir;

enum class Here : uint8_t { automatic, cow, ro, rw };

Result<Here> parse_here(std::string_view text);

// What matters here of a driver, in the order of preference.
struct DriverOffer {
  std::string name;
  bool available = false;
  Isolation isolation = Isolation::none;
  bool ro = false;
  bool rw = false;
  bool cow = false;
};

struct HereChoice {
  HostAccess access = HostAccess::cow;
  std::string notice;  // to tell the user; "" when they get what they expect
};

// Looks only at drivers that the router would take for `request`. Code::unsupported when none can
// do what was asked; the hint names drivers that can.
Result<HereChoice> choose_here(Here here, const WireCreate& request,
                               const std::vector<DriverOffer>& drivers);

// Adds the current directory to the request.
Result<> add_here(WireCreate& request, HostAccess access);

}  // namespace atl::cli
