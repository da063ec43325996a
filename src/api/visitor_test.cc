#include "api/visitor.h"

#include <gtest/gtest.h>

namespace atl::api {
namespace {

std::string origin(std::string address) { return origin_of({.address = std::move(address)}); }

TEST(Origin, IsTheAddressOrForIpv6ItsNetwork) {
  EXPECT_EQ(origin("192.0.2.7"), "192.0.2.7");
  EXPECT_NE(origin("192.0.2.7"), origin("192.0.2.8"));
  EXPECT_EQ(origin("2001:db8:1:2::1"), origin("2001:db8:1:2:ffff::9"));
  EXPECT_NE(origin("2001:db8:1:2::1"), origin("2001:db8:1:3::1"));
}

TEST(Origin, AnIpv4AddressInIpv6ClothesIsNotANetwork) {
  EXPECT_NE(origin("::ffff:192.0.2.7"), origin("::ffff:192.0.2.8"));
}

TEST(Origin, AtAUnixSocketIsTheUser) {
  EXPECT_EQ(origin_of({.credentials = net::PeerCredentials{1, 1'000, 1'000}}), "uid:1000");
}

}  // namespace
}  // namespace atl::api
