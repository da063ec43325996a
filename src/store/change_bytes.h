// Changes to bytes and back, for the boot log.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/rows.h"

namespace atl::store {

// Whether tables that have taken every change before it take this one, too: nothing in them can be
// in its way. A name can, so a row with one is never sure.
bool is_sure(const Change& change);

// Of changes that are sure; others are our own bug.
std::string to_bytes(const std::vector<Change>& changes);
Result<std::vector<Change>> changes_from(std::string_view bytes);

}  // namespace atl::store
