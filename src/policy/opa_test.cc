#include "policy/opa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "base/event.h"
#include "base/fake_clock.h"
#include "base/run_task.h"
#include "net/http_server.h"
#include "telemetry/log.h"

namespace atl::policy {
namespace {

using testing::HasSubstr;

// Speaks as much of OPA's data API as is used of it.
class FakeOpa final : public net::Handler {
 public:
  explicit FakeOpa(asio::io_context& loop) : never(loop.get_executor()) {}

  asio::awaitable<void> handle(net::Exchange& exchange) override {
    ++calls;
    path = exchange.request().path;
    authorization = exchange.request().headers.find("Authorization").value_or("");
    auto body = co_await exchange.read_body(1 << 20);
    if (body) said = *body;
    if (is_silent) {
      const auto waited = co_await never.wait();
      static_cast<void>(waited);
      co_return;
    }
    net::Response response;
    response.status = status;
    response.headers.add("Content-Type", "application/json");
    response.body = answer;
    const auto sent = co_await exchange.respond(std::move(response));
    static_cast<void>(sent);
  }

  Event never;
  int status = 200;
  std::string answer = R"({"result":true})";
  bool is_silent = false;
  int calls = 0;
  std::string path, said, authorization;
};

class OpaTest : public testing::Test {
 protected:
  OpaTest() : server_(loop_.get_executor(), opa_) {
    telemetry::set_level(telemetry::Level::off);
    auto port = server_.listen_tcp("127.0.0.1", 0);
    options_.url = "http://127.0.0.1:" + std::to_string(port.value()) + "/v1/data/atoll/allow";
    options_.timeout = Millis(5'000);
  }

  Result<> ask(std::string input = R"({"action":"create"})") {
    if (!judge_) judge_ = make_opa(loop_.get_executor(), clock_, options_).value();
    loop_.restart();
    return run_task(loop_, judge_->decide(std::move(input)));
  }

  asio::io_context loop_{1};
  FakeOpa opa_{loop_};
  net::HttpServer server_;
  FakeClock clock_;
  OpaOptions options_;
  std::shared_ptr<Judge> judge_;
};

// Answers of an opa 1.22.0 (tests/support/opa_recorded.json), as they came.
TEST_F(OpaTest, UnderstandsWhatAServerHasAnswered) {
  struct Recorded {
    int status;
    const char* answer;
    const char* why_not;  // "" = it is a yes
  };
  const Recorded all[] = {
      {200, "{\"result\":{\"allow\":true}}\n", ""},
      {200,
       "{\"result\":{\"allow\":false,\"reason\":\"only search may have more than 4 "
       "processors\"}}\n",
       "only search may have more than 4 processors"},
      {200, "{}\n", "no rule applies to it"},
      {400,
       "{\n  \"code\": \"invalid_parameter\",\n  \"message\": \"body contains malformed input "
       "document: unexpected EOF\"\n}\n",
       "it answered with status 400"},
  };
  for (const Recorded& one : all) {
    opa_.status = one.status;
    opa_.answer = one.answer;
    const auto decided = ask();
    if (*one.why_not == '\0') {
      EXPECT_TRUE(decided) << one.answer;
    } else {
      ASSERT_FALSE(decided) << one.answer;
      EXPECT_THAT(decided.error().message(), HasSubstr(one.why_not));
      const bool is_answer = one.status == 200;
      EXPECT_EQ(decided.error().code(), is_answer ? Code::permission_denied : Code::unavailable);
    }
  }
}

TEST_F(OpaTest, AsksByTheDataApi) {
  options_.token = "secret";

  EXPECT_TRUE(ask());

  EXPECT_EQ(opa_.path, "/v1/data/atoll/allow");
  EXPECT_EQ(opa_.said, R"({"input":{"action":"create"}})");
  EXPECT_EQ(opa_.authorization, "Bearer secret");
}

TEST_F(OpaTest, ANoIsToldWithItsReason) {
  opa_.answer = R"({"result":{"allow":false,"reason":"no images from there"}})";

  const auto decided = ask();

  ASSERT_FALSE(decided);
  EXPECT_EQ(decided.error().code(), Code::permission_denied);
  EXPECT_EQ(decided.error().stage(), "policy");
  EXPECT_THAT(decided.error().message(), HasSubstr("no images from there"));
}

TEST_F(OpaTest, AnObjectThatAllowsIsAYes) {
  opa_.answer = R"({"result":{"allow":true},"decision_id":"x"})";

  EXPECT_TRUE(ask());
}

TEST_F(OpaTest, NoRuleIsANo) {
  opa_.answer = "{}";

  EXPECT_EQ(ask().error().code(), Code::permission_denied);
}

TEST_F(OpaTest, EverythingElseIsNoAnswerAndNoYes) {
  for (const char* answer : {R"({"result":"yes"})", R"({"result":{"allow":1}})", "true", "no json",
                             "", R"({"result":null})", R"({"result":[true]})"}) {
    opa_.answer = answer;
    const auto decided = ask();
    ASSERT_FALSE(decided) << answer;
    EXPECT_EQ(decided.error().code(), Code::unavailable) << answer;
    EXPECT_EQ(decided.error().stage(), "policy");
  }
  opa_.answer = R"({"result":true})";
  opa_.status = 500;
  EXPECT_EQ(ask().error().code(), Code::unavailable);
  opa_.status = 200;
  opa_.answer = R"({"result":true,"x":")" + std::string(100'000, 'x') + R"("})";
  EXPECT_EQ(ask().error().code(), Code::unavailable) << "it is larger than an answer may be";
}

TEST_F(OpaTest, OneThatDoesNotAnswerInTimeIsNoYes) {
  options_.timeout = Millis(50);
  opa_.is_silent = true;

  EXPECT_EQ(ask().error().code(), Code::unavailable);
}

TEST_F(OpaTest, OneThatIsNotThereIsNoYes) {
  options_.url = "http://127.0.0.1:1/v1/data/atoll/allow";

  EXPECT_EQ(ask().error().code(), Code::unavailable);
}

TEST_F(OpaTest, RemembersNothingUnlessItIsTold) {
  EXPECT_TRUE(ask());
  opa_.answer = R"({"result":false})";
  EXPECT_FALSE(ask());
}

TEST_F(OpaTest, RemembersAnAnswerForTheSameQuestionForAMoment) {
  options_.remember = Millis(1'000);
  EXPECT_TRUE(ask(R"({"a":1})"));
  opa_.answer = R"({"result":false})";

  EXPECT_TRUE(ask(R"({"a":1})"));
  EXPECT_FALSE(ask(R"({"a":2})"));
  EXPECT_EQ(opa_.calls, 2);
  clock_.advance(Millis(1'000));
  EXPECT_FALSE(ask(R"({"a":1})"));
}

TEST_F(OpaTest, NeverRemembersThatThereWasNoAnswer) {
  options_.remember = Millis(1'000);
  opa_.status = 503;
  EXPECT_EQ(ask().error().code(), Code::unavailable);
  opa_.status = 200;

  EXPECT_TRUE(ask());
}

TEST_F(OpaTest, ManyQuestionsNeedNoMoreRoom) {
  options_.remember = Millis(60'000);
  for (int i = 0; i < 1'200; ++i) ASSERT_TRUE(ask("{\"a\":" + std::to_string(i) + "}"));
  opa_.answer = R"({"result":false})";

  EXPECT_FALSE(ask(R"({"a":0})")) << "the oldest is forgotten";
  EXPECT_TRUE(ask(R"({"a":1199})"));
}

TEST(Opa, TheUrlNamesADecision) {
  for (const char* url : {"http://127.0.0.1:8181", "http://127.0.0.1:8181/v1/data/", "opa",
                          "unix:/run/opa.sock", "http://127.0.0.1:8181/v1/policies/x"}) {
    const auto checked = check_opa({.url = url});
    ASSERT_FALSE(checked) << url;
    EXPECT_EQ(checked.error().code(), Code::invalid_argument);
    EXPECT_THAT(checked.error().hint(), HasSubstr("/v1/data/atoll/allow"));
  }
  EXPECT_TRUE(check_opa({.url = "https://opa.example/base/v1/data/atoll/allow"}));
}

}  // namespace
}  // namespace atl::policy
