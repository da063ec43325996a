#include "cli/subverb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace atl::cli {
namespace {

using ::testing::HasSubstr;

class NoProgram final : public Program {
 public:
  Result<> serve(ServeOptions) override { return Error(Code::internal, "nobody serves"); }
  Result<std::unique_ptr<LocalEngine>> open_engine(
      std::shared_ptr<const policy::Profiles>) override {
    return Error(Code::internal, "there is no engine");
  }
  Result<std::string> find_libexec() override { return std::string(); }
  std::vector<std::string> driver_names() override { return {}; }
  void use_state(std::string) override {}
};

Result<int> three(Context&) { return 3; }
Result<int> four(Context&) { return 4; }
constexpr Subverb kSubverbs[] = {{"list", 0, 0, three}, {"show", 1, 2, four}};

Result<int> typed(const std::vector<std::string>& words) {
  auto args = Args::parse({.verb = "thing", .usage = "", .least_words = 1, .most_words = 9}, words);
  EXPECT_TRUE(args) << args.error().message();
  NoProgram program;
  Context context{.args = *args, .program = program};
  return run_subverb(context, "thing", kSubverbs);
}

TEST(Subverb, TheFirstWordDecides) {
  EXPECT_EQ(typed({"list"}).value(), 3);
  EXPECT_EQ(typed({"show", "a"}).value(), 4);
  EXPECT_EQ(typed({"show", "a", "b"}).value(), 4);
}

TEST(Subverb, TooFewAndTooManyWordsAreErrorsOfUsage) {
  for (const auto& [words, told] :
       {std::pair{std::vector<std::string>{"show"}, "0 words are too few"},
        std::pair{std::vector<std::string>{"list", "a"}, "thing list: 1 words are too many"}}) {
    const auto refused = typed(words);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(is_usage_error(refused.error()));
    EXPECT_THAT(refused.error().message(), HasSubstr(told));
  }
}

TEST(Subverb, AnUnknownWordIsToldWithWhatThereIs) {
  const auto near = typed({"shwo"});
  const auto far = typed({"x\x1b[31m"});

  EXPECT_THAT(near.error().message(), HasSubstr("thing: 'shwo' is none of list, show"));
  EXPECT_EQ(near.error().hint(), "did you mean: atoll thing show");
  EXPECT_EQ(far.error().hint(), "see: atoll thing --help");
  EXPECT_THAT(far.error().message(), ::testing::Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace atl::cli
