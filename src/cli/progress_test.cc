#include "cli/progress.h"

#include <gtest/gtest.h>

namespace atl::cli {
namespace {

TEST(ProgressLine, ShowsThePartThatIsDone) {
  EXPECT_EQ(progress_line(0, 512 << 20, 1 << 30, 2),
            "[============>           ] 50% 512 MB of 1.0 GB, 256 MB/s");
  EXPECT_EQ(progress_line(1, 1 << 30, 1 << 30, 4),
            "[========================] 100% 1.0 GB of 1.0 GB, 256 MB/s");
}

TEST(ProgressLine, ShowsWhatHasComeWhereTheEndIsNotKnown) {
  EXPECT_EQ(progress_line(3, 2 << 20, 0, 1), "3 files, 2.0 MB, 2.0 MB/s");
}

}  // namespace
}  // namespace atl::cli
