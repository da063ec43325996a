// ImageConfig: what an image says about the commands that run in it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <boost/describe/class.hpp>

#include "base/result.h"
#include "json/describe.h"
#include "json/value.h"

namespace atl {

struct ImageConfig {
  static constexpr auto kRequired = json::required();

  std::map<std::string, std::string> env;
  std::string user;  // "" = it does not say; a group that it names is left out
  std::string cwd;   // absolute; "" = it does not say
  std::vector<std::string> entrypoint;
  std::vector<std::string> cmd;

  bool operator==(const ImageConfig&) const = default;
};
BOOST_DESCRIBE_STRUCT(ImageConfig, (), (env, user, cwd, entrypoint, cmd))

// From the `config` member of an image's configuration as Docker and OCI write it. What no command
// could be given (a variable without a name, a NUL, more than fits) is Code::invalid_argument.
Result<ImageConfig> read_image_config(const json::Value& document);

}  // namespace atl
