#include "container/frame_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "base/run_task.h"
#include "net/scripted_stream.h"

namespace atl::container {
namespace {

using testing::HasSubstr;

std::string frame(int stream, const std::string& bytes) {
  std::string head(8, '\0');
  head[0] = static_cast<char>(stream);
  for (size_t i = 0; i < 4; ++i) head[4 + i] = static_cast<char>(bytes.size() >> (24 - 8 * i));
  return head + bytes;
}

class FrameStreamTest : public testing::Test {
 protected:
  FrameStream over(std::string script, size_t step, std::string already_read = {}) {
    return FrameStream({std::make_unique<net::ScriptedStream>(std::move(script), step, &written_),
                        std::move(already_read)});
  }

  Result<std::string> read_all(FrameStream& stream) {
    std::string all, piece(5, '\0');
    for (;;) {
      TRY(const size_t got, run_task(loop_, stream.read_some(piece.data(), piece.size())));
      if (got == 0) return all;
      all.append(piece, 0, got);
    }
  }

  asio::io_context loop_;
  std::string written_;
};

TEST_F(FrameStreamTest, GivesStdoutHoweverItIsCut) {
  const std::string script =
      frame(1, "hello ") + frame(2, "warning") + frame(1, "") + frame(1, std::string(100, 'x'));
  for (const size_t step : {1, 3, 8, 1000}) {
    auto stream = over(script.substr(4), step, script.substr(0, 4));

    const auto all = read_all(stream);

    ASSERT_TRUE(all.has_value()) << all.error().message();
    EXPECT_EQ(*all, "hello " + std::string(100, 'x'));
    EXPECT_EQ(stream.complaint(), "warning");
  }
}

TEST_F(FrameStreamTest, RefusesWhatIsNoFrame) {
  std::string huge = frame(1, "");
  huge[4] = 0x7f;
  std::string odd = frame(1, "x");
  odd[2] = 1;
  for (const auto& script : {huge, odd, frame(4, "x"), std::string("HTTP/1.1 200 OK")}) {
    auto stream = over(script, 1000);

    const auto all = read_all(stream);

    ASSERT_FALSE(all.has_value());
    EXPECT_EQ(all.error().code(), Code::internal);
  }
}

TEST_F(FrameStreamTest, TellsAnEndThatComesTooEarly) {
  for (const size_t kept : {3, 10}) {
    auto stream = over(frame(1, "hello").substr(0, kept), 1000);

    const auto all = read_all(stream);

    ASSERT_FALSE(all.has_value());
    EXPECT_EQ(all.error().code(), Code::unavailable);
  }
}

TEST_F(FrameStreamTest, TellsTheEnginesTroubleAndKeepsLittleOfIt) {
  auto stream = over(frame(2, std::string(100'000, 'e')) + frame(3, "exec failed\n"), 4096);

  const auto all = read_all(stream);

  ASSERT_FALSE(all.has_value());
  EXPECT_THAT(all.error().message(), HasSubstr("the engine has trouble"));
  EXPECT_LE(stream.complaint().size(), 512U);
}

TEST_F(FrameStreamTest, WritesStdinAsItIs) {
  auto stream = over("", 1);

  ASSERT_TRUE(run_task(loop_, stream.write_all(std::string_view("words"))).has_value());

  EXPECT_EQ(written_, "words");
}

}  // namespace
}  // namespace atl::container
