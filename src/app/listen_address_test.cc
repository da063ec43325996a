#include "app/listen_address.h"

#include <gmock/gmock.h>

#include "cli/args.h"

namespace atl::app {
namespace {

using ::testing::HasSubstr;

TEST(ListenAddress, TakesAddressesAndPorts) {
  const auto four = parse_listen("127.0.0.1:7070");
  const auto six = parse_listen("[::1]:0");
  const auto named = parse_listen("localhost:80");

  ASSERT_TRUE(four && six && named);
  EXPECT_EQ(url_of(*four), "http://127.0.0.1:7070");
  EXPECT_EQ(url_of(*six), "http://[::1]:0");
  EXPECT_EQ(named->address, "127.0.0.1");
}

TEST(ListenAddress, NoneMeansTheSocketOnly) {
  const auto none = parse_listen("none");

  ASSERT_TRUE(none);
  EXPECT_EQ(none->address, "");
}

TEST(ListenAddress, KnowsWhatOtherHostsCanReach) {
  EXPECT_TRUE(parse_listen("127.0.0.53:1")->is_loopback());
  EXPECT_TRUE(parse_listen("[::1]:1")->is_loopback());
  EXPECT_FALSE(parse_listen("0.0.0.0:1")->is_loopback());
}

TEST(ListenAddress, WhatIsNoneIsAUsageErrorThatShowsTheForm) {
  for (const char* text :
       {"", "7070", "host.example:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "1.2.3:80"}) {
    const auto listen = parse_listen(text);

    ASSERT_FALSE(listen) << text;
    EXPECT_TRUE(cli::is_usage_error(listen.error()));
    EXPECT_THAT(listen.error().hint(), HasSubstr("127.0.0.1:7070"));
  }
}

}  // namespace
}  // namespace atl::app
