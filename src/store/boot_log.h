// The boot log: what the store has acknowledged and its tables do not hold yet.
//
// One file of a fixed size beside the database. An append is one write into the page cache, which
// survives this process and not a power cut: Durability::boot, for a hundredth of what a
// transaction of SQLite costs. Entries are numbered without gaps. The tables hold the number of the
// last one that they took, written in the same transaction, so after `kill -9` everybody can tell
// what is missing there. Once they have everything the log begins again at its start.
//
// Not for two threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace atl::store {

class BootLog final {
 public:
  static constexpr size_t kSize = 256 * 1024;

  // The entries after number `taken`, oldest first. None if there is no log, or it belongs to
  // another store than `instance`, or one between is missing, as after a power cut: what such a log
  // tells of has ended with the boot.
  static Result<std::vector<std::string>> read(const std::string& path, const std::string& instance,
                                               uint64_t taken);
  // An empty log in place of whatever is there, readable by its owner alone, with all the room that
  // it will ever need. The next entry is number `taken` + 1.
  static Result<std::unique_ptr<BootLog>> create(std::string path, const std::string& instance,
                                                 uint64_t taken);

  // After an error, and after Code::out_of_space for want of room, nothing has been added.
  Result<> append(std::string_view bytes);
  uint64_t last() const { return last_; }
  bool is_half_full() const { return end_ > kSize / 2; }
  // The tables have everything.
  void begin_again() { end_ = begin_; }
  // For good.
  void remove();

 private:
  BootLog(std::string path, Fd file, size_t begin, uint64_t last)
      : path_(std::move(path)), file_(std::move(file)), begin_(begin), end_(begin), last_(last) {}

  std::string path_;
  Fd file_;
  size_t begin_;
  size_t end_;
  uint64_t last_;
};

}  // namespace atl::store
