#include "native/oci/oci_config.h"

#include <gtest/gtest.h>
#include <linux/capability.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace atl::native {
namespace {

namespace json = boost::json;

TEST(OciConfig, SaysWhatWasAsked) {
  OciConfig config;
  config.arguments = {"/bin/agent", "a \"word\" \\ and\na line"};
  config.hostname = "sandbox";
  config.capabilities = 1ULL << CAP_SETUID | 1ULL << CAP_KILL;
  config.open_files = 64;
  config.binds = {{"/workspace"}};

  const json::value value = json::parse(to_json(config));

  const auto& process = value.at("process");
  EXPECT_EQ(process.at("args").at(1).as_string(), "a \"word\" \\ and\na line");
  EXPECT_TRUE(process.at("noNewPrivileges").as_bool());
  for (const char* set : {"bounding", "effective", "permitted"}) {
    EXPECT_EQ(process.at("capabilities").at(set), (json::array{"CAP_KILL", "CAP_SETUID"}));
  }
  EXPECT_EQ(process.at("rlimits").at(0).at("hard").as_int64(), 64);
  EXPECT_EQ(value.at("root").at("path").as_string(), "/");
  EXPECT_EQ(value.at("mounts").as_array().back().at("source").as_string(), "/workspace");
}

TEST(OciConfig, KeepsEveryNamespaceAwayFromTheHosts) {
  const json::value value = json::parse(to_json(OciConfig{}));

  EXPECT_EQ(value.at("linux").at("namespaces").as_array().size(), 5U);
}

}  // namespace
}  // namespace atl::native
