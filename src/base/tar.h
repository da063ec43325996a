// Tar archives, read and written a piece at a time: ustar, with pax for what does not fit it.
//
// Whoever made an archive is not trusted. A reader hands out only entries that can be unpacked
// below one directory: paths that neither begin at the root nor climb, files, directories and links
// that stay inside. Devices, sparse files and numbers without sense are refused, and so is an
// archive that ends before it says so. Who reads a root file system may have devices and pipes left
// out instead.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace atl {

enum class TarKind : uint8_t { file, directory, symlink, hard_link };

struct TarEntry {
  std::string path;  // relative, without "." parts; "" = the directory itself
  TarKind kind = TarKind::file;
  uint64_t size = 0;        // of a file
  uint32_t mode = 0;        // permission bits, without set-user-id and the like
  int64_t modified_at = 0;  // seconds since 1970
  std::string link_target;  // of a hard link, a path like the entry's own
  uint32_t owner = 0;       // who unpacks decides whether that counts
  uint32_t group = 0;
};

// Receives what a reader finds; its errors end the reading.
class TarSink {
 public:
  virtual ~TarSink() = default;
  virtual Result<> begin(const TarEntry& entry) = 0;
  virtual Result<> bytes(std::string_view bytes) = 0;  // of the file that has begun
  virtual Result<> end() = 0;
};

enum class TarLinks : uint8_t {
  inside,  // links that lead outside are refused
  any,     // for whoever keeps them and never goes through one
};

enum class TarSpecials : uint8_t {
  refused,
  left_out,  // devices and pipes: the sink is not told of them
};

class TarReader final {
 public:
  explicit TarReader(TarSink& sink, TarLinks links = TarLinks::inside,
                     TarSpecials specials = TarSpecials::refused)
      : sink_(sink), links_(links), specials_(specials) {}

  // The next bytes of the archive, cut anywhere.
  Result<> put(std::string_view bytes);
  // There are no more: Code::invalid_argument if the archive is not over.
  Result<> finish() const;
  // What follows is padding.
  bool is_over() const { return state_ == State::over; }
  // How many bytes have been read: within TarSink::begin, where the entry's content begins.
  uint64_t position() const { return position_; }
  // How many devices and pipes there were so far.
  uint64_t left_out() const { return left_out_; }

 private:
  enum class State : uint8_t { header, content, attribute, padding, over };

  Result<> take_header();
  Result<> take_attribute();
  Result<> take_pax(std::string_view records);
  Result<> begin_entry(char type, uint64_t size);
  Result<> end_content();
  void forget_attributes();

  TarSink& sink_;
  TarLinks links_;
  TarSpecials specials_;
  uint64_t position_ = 0;
  uint64_t left_out_ = 0;
  State state_ = State::header;
  std::string block_;      // of a header, until it is whole
  std::string attribute_;  // what an extended header says
  char attribute_type_ = 0;
  uint64_t left_ = 0;     // of the content, or of the attribute
  uint64_t padding_ = 0;  // after it
  bool is_file_ = false;
  // Said ahead of the next entry.
  std::string path_, link_;
  bool has_path_ = false, has_link_ = false, has_size_ = false, has_time_ = false;
  uint64_t size_ = 0;
  int64_t time_ = 0;
};

// A number of a header, as octal text or in base 256. Code::invalid_argument for what is none.
Result<uint64_t> tar_number(std::string_view field);
// What comes before an entry's content, which is `entry.size` bytes and tar_padding() of them.
std::string tar_header(const TarEntry& entry);
std::string tar_padding(uint64_t size);
// The last bytes of an archive.
std::string tar_end();

}  // namespace atl
