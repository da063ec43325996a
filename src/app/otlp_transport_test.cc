#include "app/otlp_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

namespace atl::app {
namespace {

using testing::HasSubstr;
using testing::Not;

class OtlpTargets : public testing::Test {
 protected:
  Result<std::unique_ptr<telemetry::OtlpTransport>> make(OtlpTarget target) {
    return make_otlp_transport(loop_.get_executor(), target);
  }

  asio::io_context loop_;
};

TEST_F(OtlpTargets, TakeAUrlWithAndWithoutThePath) {
  EXPECT_TRUE(make({.url = "http://127.0.0.1:4318", .headers = ""}));
  EXPECT_TRUE(make({.url = "https://collector.example/otlp/v1/traces", .headers = ""}));
}

TEST_F(OtlpTargets, RefuseWhatIsNoUrl) {
  const auto made = make({.url = "collector:4318", .headers = ""});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().hint(), HasSubstr("--otlp-endpoint"));
}

TEST_F(OtlpTargets, NeedNotBeThere) { EXPECT_TRUE(check_otlp_target({})); }

TEST_F(OtlpTargets, TakeHeaders) {
  EXPECT_TRUE(make({.url = "http://c:1", .headers = "x-key=abc%20d,authorization=Bearer%20x"}));
}

TEST_F(OtlpTargets, RefuseMalformedHeadersWithoutTellingThem) {
  for (const char* headers : {"secret", "=secret", "x=secret%0d%0aY: 1", "a b=secret", "x=%zz"}) {
    const auto made = make({.url = "http://c:1", .headers = headers});
    ASSERT_FALSE(made) << headers;
    EXPECT_THAT(made.error().message(), Not(HasSubstr("secret")));
  }
}

}  // namespace
}  // namespace atl::app
