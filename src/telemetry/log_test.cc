#include "telemetry/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "json/value.h"

namespace atl::telemetry {
namespace {

using testing::HasSubstr;

// Sends the log into a pipe, and back to stderr afterwards.
class Log : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    read_end_ = Fd(ends[0]);
    write_end_ = Fd(ends[1]);
    set_output(write_end_.get(), Format::json);
    set_level(Level::info);
  }
  void TearDown() override {
    set_output(STDERR_FILENO, Format::json);
    set_level(Level::info);
  }

  // Everything that was written, until no writer is left.
  std::string drain() {
    write_end_.close();
    std::string all;
    char buffer[4096];
    for (ssize_t got; (got = read(read_end_.get(), buffer, sizeof buffer)) > 0;) {
      all.append(buffer, static_cast<size_t>(got));
    }
    return all;
  }

  Fd read_end_;
  Fd write_end_;
};

TEST_F(Log, WritesALineWithItsFields) {
  log_info("sandbox created", {{"id", std::string("sbx1")}, {"ms", 1.5}});

  EXPECT_THAT(
      drain(),
      HasSubstr("\"level\":\"info\",\"msg\":\"sandbox created\",\"id\":\"sbx1\",\"ms\":1.5}\n"));
}

TEST_F(Log, LeavesOutWhatIsBelowTheLevel) {
  set_level(Level::warn);

  log_debug("a");
  log_info("b");
  log_warn("c");
  log_error("d");
  set_level(Level::off);
  log_error("e");

  const auto lines = split(drain(), '\n');
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], HasSubstr("\"msg\":\"c\""));
  EXPECT_THAT(lines[1], HasSubstr("\"msg\":\"d\""));
}

TEST_F(Log, NeverMixesTheLinesOfThreads) {
  constexpr int kThreads = 4;
  constexpr int kLines = 100;
  std::string all;
  std::thread reader([&] {
    char buffer[4096];
    for (ssize_t got; (got = read(read_end_.get(), buffer, sizeof buffer)) > 0;) {
      all.append(buffer, static_cast<size_t>(got));
    }
  });

  std::vector<std::thread> writers;
  for (int t = 0; t < kThreads; ++t) {
    writers.emplace_back([t] {
      for (int i = 0; i < kLines; ++i)
        log_info("line", {{"thread", t}, {"text", std::string(300, 'x')}});
    });
  }
  for (auto& writer : writers) writer.join();
  write_end_.close();
  reader.join();

  auto lines = split(all, '\n');
  lines.pop_back();
  EXPECT_EQ(lines.size(), size_t{kThreads * kLines});
  for (const auto& line : lines) EXPECT_TRUE(json::parse(line).has_value()) << line;
}

TEST_F(Log, KeepsErrno) {
  set_output(-1, Format::json);
  errno = ENOENT;

  log_error("the write fails");

  EXPECT_EQ(errno, ENOENT);
}

TEST(LogLevel, HasAName) {
  EXPECT_EQ(find_level("debug"), Level::debug);
  EXPECT_EQ(find_level("warning"), Level::warn);
  EXPECT_EQ(find_level("loud"), std::nullopt);
  EXPECT_EQ(to_string(Level::off), "off");
}

}  // namespace
}  // namespace atl::telemetry
