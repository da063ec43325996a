#include "driver/file_snapshots.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <boost/describe/class.hpp>

#include "base/ids.h"
#include "crypto/hash.h"
#include "json/json.h"
#include "os/file.h"

namespace atl {
namespace {

constexpr size_t kThreads = 2;
constexpr size_t kPiece = 256 * 1024;
constexpr size_t kLargestIndex = 64 * 1024;
// Of one place; a sandbox has less, but what its agent says is untrusted.
constexpr uint64_t kMostBytes = uint64_t{64} << 30;
constexpr size_t kMostImageFiles = 16;
constexpr uint64_t kLookEvery = uint64_t{32} << 20;
constexpr uint64_t kLeastFree = uint64_t{256} << 20;
constexpr Millis kPackPatience = std::chrono::minutes(30);
constexpr const char* kIndex = "index.json";
constexpr const char* kImage = "image";
constexpr std::string_view kPart = ".part";

struct KeptPlace {
  std::string path;
  uint64_t bytes = 0;
  std::string sha256;
};
BOOST_DESCRIBE_STRUCT(KeptPlace, (), (path, bytes, sha256))

// Of an image each file is a place.
struct Index {
  std::vector<KeptPlace> places;
};
BOOST_DESCRIBE_STRUCT(Index, (), (places))

std::string archive_name(size_t number) { return std::to_string(number) + ".tar"; }

Result<> flush(int fd) {
  if (fsync(fd) != 0) return os_error("flushing a snapshot");
  return {};
}

Result<Fd> open_directory(const std::string& path) {
  return os::open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

Result<> check_room(int fd, uint64_t needed = 0) {
  struct statvfs room{};
  if (fstatvfs(fd, &room) != 0) return os_error("looking at the disk");
  if (room.f_bavail * room.f_frsize >= kLeastFree + needed) return {};
  return Error(Code::out_of_space,
               needed > 0 ? "the disk where snapshots are kept has no room for the sandbox's memory"
                          : "less than 256 MiB are free where snapshots are kept")
      .with_hint("remove snapshots, or make room on the daemon's disk");
}

Error damaged(const std::string& id, const std::string& place) {
  return Error(Code::internal, "snapshot " + id + " is damaged: " + place)
      .with_hint("the disk under the state directory has changed it; remove the snapshot");
}

Result<Index> read_index(const std::string& path) {
  TRY(const auto text, os::read_file(AT_FDCWD, path + "/" + kIndex, kLargestIndex));
  return json::decode<Index>(text);
}

// Empty, for whoever is given it: the directories above are ours alone.
Result<Fd> make_image_directory(const std::string& path, uint64_t expected) {
  if (mkdir(path.c_str(), 0700) != 0) return os_error("making", path);
  TRY(auto made, open_directory(path));
  TRY_OK(check_room(made.get(), expected));
  if (fchmod(made.get(), 0777) != 0) return os_error("setting the mode of", path);
  if (flock(made.get(), LOCK_EX | LOCK_NB) != 0) return os_error("locking", path);
  return made;
}

// Whoever has written it may have been taken over: no pipe makes us wait, and no link leads us
// away.
Result<Fd> open_image_file(int directory, const std::string& name) {
  TRY(auto file, os::open_at(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  struct stat info{};
  if (fstat(file.get(), &info) != 0) return os_error("looking at an image");
  if (!S_ISREG(info.st_mode)) return Error(Code::internal, "an image with what is no file");
  return file;
}

// Whoever writes it has the same open directory as we had when we locked it.
Result<> check_nobody_writes(int directory, const std::string& image) {
  const auto opened = os::open_at(directory, image, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!opened || flock(opened->get(), LOCK_EX | LOCK_NB) == 0) return {};
  return Error(Code::conflict, "the snapshot is still being written");
}

}  // namespace

struct FileSnapshots::Archive {
  Fd file;
  crypto::Sha256 hash;
  uint64_t bytes = 0;
  uint64_t looked_at = 0;

  Result<> put(const std::string& piece) {
    if (piece.size() > kMostBytes - bytes)
      return Error(Code::too_large, "there are more than 64 GiB to keep");
    if (bytes >= looked_at) {
      TRY_OK(check_room(file.get()));
      looked_at = bytes + kLookEvery;
    }
    TRY_OK(os::write_all(file.get(), piece));
    hash.put(piece);
    bytes += piece.size();
    return {};
  }

  // Empty at the end.
  Result<std::string> get() {
    std::string piece(kPiece, '\0');
    for (;;) {
      const ssize_t got = read(file.get(), piece.data(), piece.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return os_error("reading a snapshot");
      piece.resize(static_cast<size_t>(got));
      hash.put(piece);
      bytes += piece.size();
      return piece;
    }
  }

  // All of it, from the disk.
  Result<KeptPlace> sum_up() {
    // Otherwise it would come from memory, and prove nothing about the disk.
    posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
    if (lseek(file.get(), 0, SEEK_SET) != 0) return os_error("rewinding a snapshot");
    for (;;) {
      TRY(const auto piece, get());
      if (piece.empty()) break;
      if (bytes > kMostBytes) return Error(Code::too_large, "there are more than 64 GiB to keep");
    }
    return KeptPlace{"", bytes, hash.finish()};
  }

  // On the disk, and read back from there as it was written.
  Result<std::string> finish() {
    TRY_OK(flush(file.get()));
    std::string written = hash.finish();
    Archive again;
    again.file = std::move(file);
    TRY(const auto found, again.sum_up());
    if (found.bytes != bytes || found.sha256 != written) {
      return Error(Code::internal, "a snapshot was read back otherwise than it was written")
          .with_hint("the disk under the state directory is failing");
    }
    return written;
  }
};

FileSnapshots::FileSnapshots(asio::any_io_executor executor, std::string directory)
    : directory_(std::move(directory)),
      workers_(std::make_shared<Workers>(std::move(executor), kThreads)) {}

FileSnapshots::~FileSnapshots() { workers_->stop(); }

Task<> FileSnapshots::begin(std::string part) {
  co_return co_await workers_->run<void>([directory = directory_, part]() -> Result<> {
    for (const auto& path : {directory.substr(0, directory.rfind('/')), directory}) {
      if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return os_error("making", path);
    }
    if (mkdir(part.c_str(), 0700) != 0) return os_error("making", part);
    return {};
  });
}

Task<> FileSnapshots::finish(std::string id, std::string index) {
  co_return co_await workers_->run<void>([directory = directory_, id, index]() -> Result<> {
    const std::string part = directory + "/" + id + std::string(kPart);
    TRY(const auto made, open_directory(part));
    TRY(const auto file,
        os::open_at(made.get(), kIndex, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    TRY_OK(os::write_all(file.get(), index));
    TRY_OK(flush(file.get()));
    TRY_OK(flush(made.get()));
    if (rename(part.c_str(), (directory + "/" + id).c_str()) != 0)
      return os_error("putting a snapshot in place");
    TRY(const auto above, open_directory(directory));
    return flush(above.get());
  });
}

asio::awaitable<Error> FileSnapshots::undo(std::string id, Error why) {
  auto dropped = co_await drop(std::move(id));
  if (!dropped)
    co_return std::move(why).with("it failed, and its remains could not be removed yet");
  co_return why;
}

Task<SnapshotFacts> FileSnapshots::save(Guest& guest, std::string id,
                                        std::vector<std::string> places) {
  const std::string part = directory_ + "/" + id + std::string(kPart);
  CO_TRY_OK(co_await begin(part));
  Index index;
  SnapshotFacts facts;
  Result<> kept;
  for (size_t i = 0; i < places.size() && kept; ++i) {
    const auto archive = std::make_shared<Archive>();
    kept = co_await workers_->run<void>([archive,
                                         path = part + "/" + archive_name(i)]() -> Result<> {
      TRY(archive->file, os::open_at(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
      return {};
    });
    if (!kept) break;
    auto packed = co_await pack(guest, places[i], archive);
    if (!packed) {
      kept = std::move(packed).error().with("keeping " + places[i]);
      break;
    }
    facts.left_out += *packed;
    auto hash = co_await workers_->run<std::string>([archive] { return archive->finish(); });
    if (!hash) {
      kept = std::move(hash).error();
      break;
    }
    facts.bytes += archive->bytes;
    index.places.push_back({places[i], archive->bytes, *hash});
  }
  if (kept) kept = co_await finish(id, json::encode(index));
  if (kept) co_return facts;
  co_return co_await undo(std::move(id), std::move(kept).error());
}

Task<SnapshotFacts> FileSnapshots::save_image(std::string id, uint64_t expected, Fill fill) {
  const std::string part = directory_ + "/" + id + std::string(kPart);
  CO_TRY_OK(co_await begin(part));
  struct Made {
    Index index;
    SnapshotFacts facts;
  };
  auto made = co_await workers_->run<Made>(
      [path = part + "/" + kImage, expected, fill = std::move(fill)]() -> Result<Made> {
        TRY(const auto directory, make_image_directory(path, expected));
        Made made;
        TRY(made.facts.left_out, fill(directory.get()));
        if (fchmod(directory.get(), 0755) != 0) return os_error("setting the mode of", path);
        const auto names = os::names_in(directory.get());
        if (names.size() > kMostImageFiles) return Error(Code::too_large, "an image of many files");
        for (const auto& name : names) {
          Archive file;
          TRY(file.file, open_image_file(directory.get(), name));
          TRY_OK(flush(file.file.get()));
          TRY(KeptPlace kept, file.sum_up());
          kept.path = name;
          made.facts.bytes += kept.bytes;
          made.index.places.push_back(std::move(kept));
        }
        TRY_OK(flush(directory.get()));
        return made;
      });
  Result<> kept = made ? Result<>() : Result<>(made.error());
  if (kept) kept = co_await finish(id, json::encode(made->index));
  if (kept) co_return made->facts;
  co_return co_await undo(std::move(id), std::move(kept).error());
}

Task<SnapshotFacts> FileSnapshots::save_pieces(std::string id, std::string name, uint64_t expected,
                                               Pieces pieces) {
  const std::string part = directory_ + "/" + id + std::string(kPart);
  CO_TRY_OK(co_await begin(part));
  const auto archive = std::make_shared<Archive>();
  Result<> kept = co_await workers_->run<void>(
      [archive, path = part + "/" + kImage, name, expected]() -> Result<> {
        if (mkdir(path.c_str(), 0700) != 0) return os_error("making", path);
        TRY(const auto directory, open_directory(path));
        TRY_OK(check_room(directory.get(), expected));
        TRY(archive->file,
            os::open_at(directory.get(), name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
        return flush(directory.get());
      });
  while (kept) {
    auto piece = co_await pieces();
    if (!piece) {
      kept = std::move(piece).error();
      break;
    }
    if (piece->empty()) break;
    kept = co_await workers_->run<void>(
        [archive, bytes = *std::move(piece)] { return archive->put(bytes); });
  }
  Index index;
  if (kept) {
    auto hash = co_await workers_->run<std::string>([archive] { return archive->finish(); });
    if (hash) index.places.push_back({name, archive->bytes, *hash});
    if (!hash) kept = std::move(hash).error();
  }
  if (kept) kept = co_await finish(id, json::encode(index));
  if (kept) co_return SnapshotFacts{.bytes = archive->bytes};
  co_return co_await undo(std::move(id), std::move(kept).error());
}

bool FileSnapshots::has_image(const std::string& id) const {
  return is_snapshot_id(id) && access((directory_ + "/" + id + "/" + kImage).c_str(), F_OK) == 0;
}

Task<Fd> FileSnapshots::open_image(std::string id) {
  if (!has_image(id)) co_return Error(Code::not_found, "no snapshot " + id + " is kept here");
  co_return co_await workers_->run<Fd>([path = directory_ + "/" + id, id]() -> Result<Fd> {
    TRY(const auto index, read_index(path));
    TRY(auto directory, open_directory(path + "/" + kImage));
    for (const auto& place : index.places) {
      Archive file;
      TRY(file.file, open_image_file(directory.get(), place.path));
      TRY(const auto found, file.sum_up());
      if (found.bytes != place.bytes || found.sha256 != place.sha256)
        return damaged(id, place.path);
    }
    return directory;
  });
}

// How many files were left out.
Task<uint64_t> FileSnapshots::pack(Guest& guest, std::string place,
                                   std::shared_ptr<Archive> archive) {
  PackRequest request{.path = place + "/.", .all_links = true, .timeout = kPackPatience};
  CO_TRY(const auto tool, co_await guest.start_tool(std::move(request)));
  for (;;) {
    CO_TRY(auto event, co_await tool->next());
    if (const auto* end = std::get_if<ToolEnd>(&event)) co_return end->skipped;
    auto* piece = std::get_if<ArchivePiece>(&event);
    if (piece == nullptr) continue;
    CO_TRY_OK(co_await workers_->run<void>(
        [archive, bytes = std::move(piece->bytes)] { return archive->put(bytes); }));
  }
}

Task<> FileSnapshots::put_back(Guest& guest, std::string id) {
  if (!has(id)) co_return Error(Code::not_found, "no snapshot " + id + " is kept here");
  const std::string path = directory_ + "/" + id;
  CO_TRY(const auto index, co_await workers_->run<Index>([path] { return read_index(path); }));
  for (size_t i = 0; i < index.places.size(); ++i) {
    const KeptPlace& place = index.places[i];
    const auto archive = std::make_shared<Archive>();
    CO_TRY_OK(
        co_await workers_->run<void>([archive, file = path + "/" + archive_name(i)]() -> Result<> {
          TRY(archive->file, os::open_at(AT_FDCWD, file, O_RDONLY | O_NOFOLLOW));
          return {};
        }));
    auto unpacked = co_await unpack(guest, place.path, archive);
    if (!unpacked) co_return std::move(unpacked).error().with("putting back " + place.path);
    if (archive->bytes != place.bytes || archive->hash.finish() != place.sha256)
      co_return damaged(id, place.path);
  }
  co_return Result<>();
}

Task<> FileSnapshots::unpack(Guest& guest, std::string place, std::shared_ptr<Archive> archive) {
  UnpackRequest request{.path = place, .all_links = true};
  CO_TRY(const auto tool, co_await guest.start_tool(std::move(request)));
  for (;;) {
    CO_TRY(auto piece, co_await workers_->run<std::string>([archive] { return archive->get(); }));
    if (piece.empty()) break;
    auto written = co_await tool->write(std::move(piece));
    if (!written) break;  // next() says why
  }
  auto finished = co_await tool->finish();
  (void)finished;
  for (;;) {
    CO_TRY(auto event, co_await tool->next());
    if (std::holds_alternative<ToolEnd>(event)) co_return Result<>();
  }
}

bool FileSnapshots::has(const std::string& id) const {
  return is_snapshot_id(id) && access((directory_ + "/" + id).c_str(), F_OK) == 0;
}

std::vector<std::string> FileSnapshots::list() const {
  std::vector<std::string> ids;
  for (auto& name : os::names_in(AT_FDCWD, directory_)) {
    if (name.ends_with(kPart)) name.resize(name.size() - kPart.size());
    if (is_snapshot_id(name)) ids.push_back(std::move(name));
  }
  return ids;
}

Task<> FileSnapshots::drop(std::string id) {
  if (!is_snapshot_id(id)) co_return Error(Code::invalid_argument, "malformed snapshot id");
  co_return co_await workers_->run<void>([directory = directory_, id]() -> Result<> {
    auto opened = open_directory(directory);
    if (!opened) return opened.error().os_errno() == ENOENT ? Result<>() : opened.error();
    TRY_OK(check_nobody_writes(opened->get(), id + std::string(kPart) + "/" + kImage));
    // The index first: what is half removed is no snapshot.
    unlinkat(opened->get(), (id + "/" + kIndex).c_str(), 0);
    TRY_OK(os::remove_tree(opened->get(), id));
    TRY_OK(os::remove_tree(opened->get(), id + std::string(kPart)));
    TRY_OK(flush(opened->get()));
    rmdir(directory.c_str());  // only if it is empty
    return {};
  });
}

}  // namespace atl
