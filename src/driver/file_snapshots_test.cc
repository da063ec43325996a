#include "driver/file_snapshots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <boost/asio/io_context.hpp>

#include "base/ids.h"
#include "base/run_task.h"
#include "os/file.h"

namespace atl {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Error lacking() { return Error(Code::unsupported, "not here"); }

// Has one archive for each place, and takes one.
class ArchiveGuest final : public Guest {
 public:
  std::map<std::string, std::string> archives;  // by place
  std::string fails_at;                         // packing this place breaks off

  Task<std::unique_ptr<FileTool>> start_tool(ToolRequest request) override {
    if (const auto* pack = std::get_if<PackRequest>(&request)) {
      const std::string place = pack->path.substr(0, pack->path.size() - 2);
      co_return std::make_unique<Tool>(*this, place, archives[place], place == fails_at);
    }
    const auto& unpack = std::get<UnpackRequest>(request);
    archives[unpack.path].clear();
    co_return std::make_unique<Tool>(*this, unpack.path, "", false);
  }

  Task<std::unique_ptr<Process>> start(ExecRequest) override { co_return lacking(); }
  Task<std::unique_ptr<Process>> attach(ProcessId, ResumeFrom) override { co_return lacking(); }
  Task<std::vector<ProcessInfo>> processes() override { co_return lacking(); }
  Task<> signal(ProcessId, int) override { co_return lacking(); }
  Task<> resize(ProcessId, TerminalSize) override { co_return lacking(); }
  Task<FileInfo> stat(std::string) override { co_return lacking(); }
  Task<std::vector<FileInfo>> list(std::string, size_t) override { co_return lacking(); }
  Task<std::unique_ptr<FileReader>> open_read(std::string) override { co_return lacking(); }
  Task<std::unique_ptr<FileWriter>> open_write(std::string, uint32_t, Parents) override {
    co_return lacking();
  }
  Task<> mkdir(std::string, Parents) override { co_return lacking(); }
  Task<> move(std::string, std::string) override { co_return lacking(); }
  Task<> remove(std::string, Recursive) override { co_return lacking(); }

 private:
  class Tool final : public FileTool {
   public:
    Tool(ArchiveGuest& guest, std::string place, std::string left, bool fails)
        : guest_(guest), place_(std::move(place)), left_(std::move(left)), fails_(fails) {}
    Task<ToolEvent> next() override {
      if (!left_.empty()) co_return ToolEvent(ArchivePiece{std::exchange(left_, {})});
      if (fails_) co_return Error(Code::unavailable, "the sandbox has ended");
      co_return ToolEvent(ToolEnd{.skipped = 1});
    }
    void interrupt() override {}
    Task<> write(std::string bytes) override {
      guest_.archives[place_] += bytes;
      co_return Result<>();
    }
    Task<> finish() override { co_return Result<>(); }

   private:
    ArchiveGuest& guest_;
    std::string place_, left_;
    bool fails_;
  };
};

class FileSnapshotsTest : public ::testing::Test {
 protected:
  FileSnapshotsTest()
      : directory_(std::filesystem::temp_directory_path() / ("atoll-kept-" + random_name(8))),
        kept_(std::make_unique<FileSnapshots>(loop_.get_executor(), directory_ / "snapshots")) {
    guest_.archives = {{"/workspace", "w"}, {"/home/user", std::string(600'000, 'h')}};
  }
  ~FileSnapshotsTest() override {
    kept_.reset();
    std::filesystem::remove_all(directory_);
  }

  Result<SnapshotFacts> save() {
    return run_task(loop_, kept_->save(guest_, id_, {"/workspace", "/home/user"}));
  }

  const std::string id_ = make_snapshot_id();
  std::filesystem::path directory_;
  asio::io_context loop_;
  std::unique_ptr<FileSnapshots> kept_;
  ArchiveGuest guest_;
};

TEST_F(FileSnapshotsTest, ComeBackAsTheyWere) {
  const auto saved = save();
  ASSERT_TRUE(saved) << saved.error().message();
  EXPECT_EQ(saved->bytes, 600'001U);
  EXPECT_EQ(saved->left_out, 2U);
  EXPECT_THAT(kept_->list(), ElementsAre(id_));
  const auto was = std::exchange(guest_.archives, {});

  const auto back = run_task(loop_, kept_->put_back(guest_, id_));

  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(guest_.archives, was);
}

TEST_F(FileSnapshotsTest, ThatFailLeaveNothing) {
  guest_.fails_at = "/home/user";

  EXPECT_EQ(save().error().code(), Code::unavailable);

  EXPECT_THAT(kept_->list(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(directory_ / "snapshots"));
}

TEST_F(FileSnapshotsTest, ThatWereChangedOnTheDiskAreDamaged) {
  ASSERT_TRUE(save());
  std::ofstream(directory_ / "snapshots" / id_ / "0.tar") << "x";

  EXPECT_EQ(run_task(loop_, kept_->put_back(guest_, id_)).error().code(), Code::internal);
}

TEST_F(FileSnapshotsTest, WhatSomebodyLeftHalfMadeIsShownAndDropped) {
  std::filesystem::create_directories(directory_ / "snapshots" / (id_ + ".part"));
  EXPECT_THAT(kept_->list(), ElementsAre(id_));
  EXPECT_EQ(run_task(loop_, kept_->put_back(guest_, id_)).error().code(), Code::not_found);

  ASSERT_TRUE(run_task(loop_, kept_->drop(id_)));

  EXPECT_THAT(kept_->list(), IsEmpty());
  EXPECT_TRUE(run_task(loop_, kept_->drop(id_)));
}

// Writes one file, and keeps the directory open if it is told to.
FileSnapshots::Fill write_memory(Fd* kept_open = nullptr) {
  return [kept_open](int directory) -> Result<uint64_t> {
    TRY(const auto file, os::open_at(directory, "memory", O_WRONLY | O_CREAT | O_EXCL, 0644));
    TRY_OK(os::write_all(file.get(), std::string(700'000, 'm')));
    if (kept_open != nullptr) *kept_open = Fd(fcntl(directory, F_DUPFD_CLOEXEC, 0));
    return 3;
  };
}

TEST_F(FileSnapshotsTest, AnImageIsWhatItsMakerHasWritten) {
  const auto saved = run_task(loop_, kept_->save_image(id_, 0, write_memory()));
  ASSERT_TRUE(saved) << saved.error().message();
  EXPECT_EQ(saved->bytes, 700'000U);
  EXPECT_EQ(saved->left_out, 3U);
  EXPECT_TRUE(kept_->has_image(id_));
  EXPECT_THAT(kept_->list(), ElementsAre(id_));

  const auto image = run_task(loop_, kept_->open_image(id_));

  ASSERT_TRUE(image) << image.error().message();
  EXPECT_EQ(os::read_file(image->get(), "memory", 1 << 20)->size(), 700'000U);
  ASSERT_TRUE(run_task(loop_, kept_->drop(id_)));
  EXPECT_THAT(kept_->list(), IsEmpty());
}

TEST_F(FileSnapshotsTest, AnImageThatWasChangedIsDamaged) {
  ASSERT_TRUE(run_task(loop_, kept_->save_image(id_, 0, write_memory())));
  std::ofstream(directory_ / "snapshots" / id_ / "image" / "memory") << "x";

  EXPECT_EQ(run_task(loop_, kept_->open_image(id_)).error().code(), Code::internal);
}

TEST_F(FileSnapshotsTest, AnImageWithoutRoomIsNotBegun) {
  bool was_begun = false;
  const auto fill = [&](int) -> Result<uint64_t> {
    was_begun = true;
    return 0;
  };

  const auto saved = run_task(loop_, kept_->save_image(id_, uint64_t{1} << 60, fill));

  EXPECT_EQ(saved.error().code(), Code::out_of_space);
  EXPECT_FALSE(was_begun);
  EXPECT_THAT(kept_->list(), IsEmpty());
}

TEST_F(FileSnapshotsTest, AnImageOfWhatIsNoFileIsRefused) {
  const auto fill = [](int directory) -> Result<uint64_t> {
    if (mkfifoat(directory, "memory", 0644) != 0) return os_error("making a pipe");
    return 0;
  };

  EXPECT_EQ(run_task(loop_, kept_->save_image(id_, 0, fill)).error().code(), Code::internal);
  EXPECT_THAT(kept_->list(), IsEmpty());
}

TEST_F(FileSnapshotsTest, AnImageThatSomebodyStillWritesIsNotDropped) {
  Fd writer;
  const auto fill = [&](int directory) -> Result<uint64_t> {
    TRY_OK(write_memory(&writer)(directory));
    return Error(Code::unavailable, "whoever asked has gone");
  };
  ASSERT_FALSE(run_task(loop_, kept_->save_image(id_, 0, fill)));

  EXPECT_EQ(run_task(loop_, kept_->drop(id_)).error().code(), Code::conflict);
  EXPECT_THAT(kept_->list(), ElementsAre(id_));
  writer.close();
  EXPECT_TRUE(run_task(loop_, kept_->drop(id_)));
  EXPECT_THAT(kept_->list(), IsEmpty());
}

}  // namespace
}  // namespace atl
