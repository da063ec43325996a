// The drivers that an engine offers, wherever it is.
#pragma once

#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/here.h"

namespace atl::cli {

std::vector<DriverOffer> offers_from(const std::vector<DriverView>& drivers);
Result<std::vector<DriverOffer>> fetch_offers(Client& client);

// As GET /v1/drivers tells it.
std::string to_json(const std::vector<DriverView>& drivers);

}  // namespace atl::cli
