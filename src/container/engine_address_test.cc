#include "container/engine_address.h"

#include <gtest/gtest.h>

namespace atl::container {
namespace {

TEST(EngineAddress, IsASocketOrAServer) {
  EXPECT_TRUE(parse_engine_address(kDocker, "unix:///run/x.sock", "")->is_local());
  EXPECT_EQ(parse_engine_address(kDocker, "/run/x.sock", "")->endpoint.socket_path, "/run/x.sock");

  const auto plain = parse_engine_address(kDocker, "tcp://127.0.0.1", "");
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->endpoint.kind, net::Endpoint::Kind::tcp);
  EXPECT_EQ(plain->endpoint.port, 2375);

  const auto secure = parse_engine_address(kDocker, "tcp://engine.example:2376", "/certs");
  ASSERT_TRUE(secure.has_value());
  EXPECT_EQ(secure->endpoint.kind, net::Endpoint::Kind::tls);
  EXPECT_EQ(secure->endpoint.port, 2376);
  EXPECT_EQ(secure->tls.ca_file, "/certs/ca.pem");
  EXPECT_EQ(secure->tls.key_file, "/certs/key.pem");
}

TEST(EngineAddress, IsNoOtherMachineWithoutTls) {
  for (const char* text : {"tcp://10.0.0.1", "tcp://engine.example:2375", "tcp://[2001:db8::1]:1"})
    EXPECT_EQ(parse_engine_address(kDocker, text, "").error().code(), Code::invalid_argument)
        << text;
  for (const char* text : {"tcp://127.0.0.2:1", "tcp://localhost", "tcp://[::1]:2375"})
    EXPECT_TRUE(parse_engine_address(kDocker, text, "").has_value()) << text;
}

TEST(EngineAddress, IsNothingElse) {
  for (const char* text :
       {"ssh://host", "tcp://", "relative", "tcp://host:1/path", "tcp://h:99999"})
    EXPECT_EQ(parse_engine_address(kDocker, text, "").error().code(), Code::invalid_argument)
        << text;
}

}  // namespace
}  // namespace atl::container
