// Dependencies: packages that a profile has installed in its sandboxes before anybody gets them.
//
//   dependencies: {pip: [requests>=2], npm: [left-pad@1], apt: [git]}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/describe/enum.hpp>

#include "base/result.h"
#include "json/value.h"

namespace atl::policy {

inline constexpr size_t kMostPackages = 200;  // of an installer
inline constexpr size_t kLongestPackage = 500;

struct Dependencies {
  std::vector<std::string> pip;
  std::vector<std::string> npm;
  std::vector<std::string> apt;  // root installs them, in a root file system that can be written to

  bool is_empty() const { return pip.empty() && npm.empty() && apt.empty(); }
  bool operator==(const Dependencies&) const = default;
};

// How much of a start is kept for the next sandbox, where the driver can.
enum class Layer : uint8_t {
  none,
  dependencies,
  setup,  // and what the steps of the setup leave in files
};
BOOST_DESCRIBE_ENUM(Layer, none, dependencies, setup)

// What an installer may be told: one line, and no option, which could make it read and write
// elsewhere.
bool is_package(std::string_view text);

// As it stands in a profile. Errors begin with the field.
Result<Dependencies> read_dependencies(const json::Value& value);

}  // namespace atl::policy
