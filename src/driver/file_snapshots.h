// FileSnapshots: the files of sandboxes, kept as archives in a directory of ours.
//
// For drivers whose sandboxes keep files where nothing else of the driver's can reach them, in
// memory for example: the agent packs them, as the sandbox's user, and unpacks them in another
// sandbox. Processes go on meanwhile, so files are read one after another and not at one moment.
//
//   DIR/snp…/index.json   which places, and what their archives hash to
//   DIR/snp…/0.tar …      one archive for each
//   DIR/snp…/image/       instead of archives: what the driver has put there, memory for example
//   DIR/snp….part         being made, or left by somebody who died; list() shows it, too
//
// What save() has acknowledged is on the disk and was read back from it. Lives on the core loop;
// what blocks is done elsewhere.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/workers.h"
#include "driver/guest.h"
#include "driver/snapshot.h"

namespace atl {

class FileSnapshots final {
 public:
  // `directory` and the one above it are made with the first snapshot.
  FileSnapshots(asio::any_io_executor executor, std::string directory);
  ~FileSnapshots();

  // Everything in `places`, which are absolute. On failure nothing is left. Code::out_of_space
  // before the disk is full, because others live there.
  Task<SnapshotFacts> save(Guest& guest, std::string id, std::vector<std::string> places);
  // Into the same places, which are there. Code::not_found when there is no such snapshot,
  // Code::internal when it is damaged; what was unpacked by then is the caller's to clear away.
  Task<> put_back(Guest& guest, std::string id);

  // Writes into the directory, which is empty; gives the number of files that were left out. Runs
  // on another thread.
  using Fill = std::function<Result<uint64_t>(int directory)>;
  // What `fill` makes. Others than us may write there until it returns, and nobody else gets there;
  // who keeps the directory open keeps drop() away from it. `expected` is how many bytes it may
  // need: Code::out_of_space when they are not free.
  Task<SnapshotFacts> save_image(std::string id, uint64_t expected, Fill fill);
  // Who has it tells it piece by piece, to file `name`; the empty piece is the end.
  using Pieces = std::function<Task<std::string>()>;
  Task<SnapshotFacts> save_pieces(std::string id, std::string name, uint64_t expected,
                                  Pieces pieces);
  bool has_image(const std::string& id) const;
  // The directory, once all of it was compared with its sums.
  Task<Fd> open_image(std::string id);

  bool has(const std::string& id) const;
  std::vector<std::string> list() const;
  // One that is gone is no error; Code::conflict while somebody still writes it.
  Task<> drop(std::string id);

 private:
  struct Archive;

  Task<> begin(std::string part);
  // In the part of `id`: what makes it a snapshot.
  Task<> finish(std::string id, std::string index);
  asio::awaitable<Error> undo(std::string id, Error why);
  Task<uint64_t> pack(Guest& guest, std::string place, std::shared_ptr<Archive> archive);
  Task<> unpack(Guest& guest, std::string place, std::shared_ptr<Archive> archive);

  std::string directory_;
  std::shared_ptr<Workers> workers_;
};

}  // namespace atl
