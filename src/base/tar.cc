#include "base/tar.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace atl {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kLongestPath = 4095;
constexpr size_t kLongestName = 255;
constexpr size_t kMostParts = 255;
constexpr size_t kLongestAttribute = 64 * 1024;
// What a file system of ours could hold; also what keeps sums from overflowing.
constexpr uint64_t kLargestFile = uint64_t{1} << 50;
constexpr int64_t kYear9999 = 253'402'300'799;

// Where the fields of a header are, and how long.
struct Field {
  size_t at, length;
};
constexpr Field kName{0, 100}, kMode{100, 8}, kOwner{108, 8}, kGroup{116, 8}, kSize{124, 12},
    kTime{136, 12}, kSum{148, 8}, kLink{157, 100}, kMagic{257, 6}, kPrefix{345, 155};
constexpr size_t kType = 156;

Error refused(std::string_view what, std::string_view path = {}) {
  std::string message = "the archive is refused: ";
  if (!path.empty()) message += "'" + to_printable(path.substr(0, 200)) + "' ";
  return Error(Code::invalid_argument, message + std::string(what))
      .with_hint("archives hold files, directories and links that stay inside of them");
}

std::string_view text_of(std::string_view block, Field field) {
  const std::string_view text = block.substr(field.at, field.length);
  return text.substr(0, text.find('\0'));
}

Result<uint64_t> number_of(std::string_view block, Field field) {
  return tar_number(block.substr(field.at, field.length));
}

// Archives of others have what they like here, and hardly anybody looks: what is none is root's.
uint32_t id_of(std::string_view block, Field field) {
  const auto number = number_of(block, field);
  return number && *number < UINT32_MAX ? static_cast<uint32_t>(*number) : 0;
}

bool is_zero(std::string_view block) {
  return block.find_first_not_of('\0') == std::string_view::npos;
}

unsigned sum_of(std::string_view block) {
  unsigned sum = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    const bool in_sum = i >= kSum.at && i < kSum.at + kSum.length;
    sum += in_sum ? static_cast<uint8_t>(' ') : static_cast<uint8_t>(block[i]);
  }
  return sum;
}

// Without "." parts and doubled slashes.
Result<std::string> clean_path(std::string_view path) {
  if (path.empty()) return refused("an entry has no name");
  if (path.find('\0') != std::string_view::npos) return refused("has a NUL in its name", path);
  if (path.front() == '/') return refused("begins at the root", path);
  if (path.size() > kLongestPath) return refused("has too long a name", path);
  std::string clean;
  size_t parts = 0;
  for (const auto& part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return refused("climbs out", path);
    if (part.size() > kLongestName) return refused("has too long a name", path);
    if (++parts > kMostParts) return refused("lies too deep", path);
    if (!clean.empty()) clean += '/';
    clean += part;
  }
  return clean;
}

// A target may climb only at its front: then each step goes up a directory that is really there,
// and what follows goes down, through other links only to where those may lead.
Result<> check_symlink(const TarEntry& entry, TarLinks links) {
  const std::string_view target = entry.link_target;
  if (target.empty() || target.size() > kLongestPath ||
      target.find('\0') != std::string_view::npos) {
    return refused("is a link to nowhere", entry.path);
  }
  if (links == TarLinks::any) return {};
  if (target.front() == '/') return refused("is a link that leads outside", entry.path);
  auto depth = static_cast<size_t>(std::ranges::count(entry.path, '/'));
  bool is_down = false;
  for (const auto& part : split(target, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      is_down = true;
    } else if (is_down || depth-- == 0) {
      return refused("is a link that leads outside", entry.path);
    }
  }
  return {};
}

void put_text(std::string& block, Field field, std::string_view text) {
  std::ranges::copy(text.substr(0, field.length),
                    block.begin() + static_cast<std::ptrdiff_t>(field.at));
}

void put_octal(std::string& block, Field field, uint64_t value) {
  for (size_t i = field.length - 1; i-- > 0; value >>= 3)
    block[field.at + i] = static_cast<char>('0' + (value & 7));
}

std::string make_block(std::string_view name, char type, uint64_t size, const TarEntry& entry) {
  std::string block(kBlock, '\0');
  put_text(block, kName, name);
  put_octal(block, kMode, entry.mode & 07777);
  put_octal(block, kOwner, entry.owner);
  put_octal(block, kGroup, entry.group);
  put_octal(block, kSize, size < (uint64_t{1} << 33) ? size : 0);
  put_octal(
      block, kTime,
      static_cast<uint64_t>(std::clamp<int64_t>(entry.modified_at, 0, (int64_t{1} << 33) - 1)));
  block[kType] = type;
  put_text(block, kMagic, "ustar");
  put_text(block, {263, 2}, "00");
  return block;
}

std::string with_sum(std::string block) {
  put_octal(block, {kSum.at, 7}, sum_of(block));
  block[kSum.at + 7] = ' ';
  return block;
}

// "27 path=…\n": the length counts itself.
std::string pax_record(std::string_view key, std::string_view value) {
  const size_t rest = key.size() + value.size() + 3;
  size_t length = rest + 1;
  while (std::to_string(length).size() + rest != length)
    length = std::to_string(length).size() + rest;
  return std::to_string(length).append(" ").append(key).append("=").append(value).append("\n");
}

}  // namespace

Result<> TarReader::put(std::string_view bytes) {
  while (!bytes.empty() && state_ != State::over) {
    if (state_ == State::header) {
      const size_t take = std::min(bytes.size(), kBlock - block_.size());
      block_ += bytes.substr(0, take);
      bytes.remove_prefix(take);
      position_ += take;
      if (block_.size() < kBlock) return {};
      TRY_OK(take_header());
      block_.clear();
      continue;
    }
    uint64_t& left = state_ == State::padding ? padding_ : left_;
    const auto take = static_cast<size_t>(std::min<uint64_t>(bytes.size(), left));
    const std::string_view piece = bytes.substr(0, take);
    bytes.remove_prefix(take);
    position_ += take;
    left -= take;
    if (state_ == State::attribute) attribute_ += piece;
    if (state_ == State::content && is_file_ && !piece.empty()) TRY_OK(sink_.bytes(piece));
    if (left == 0) TRY_OK(end_content());
  }
  return {};
}

Result<> TarReader::end_content() {
  const State ended = state_;
  state_ = State::header;
  if (ended == State::content) TRY_OK(sink_.end());
  if (ended == State::attribute) TRY_OK(take_attribute());
  if (ended != State::padding && padding_ > 0) state_ = State::padding;
  return {};
}

Result<> TarReader::finish() const {
  if (state_ == State::over) return {};
  return refused("it ends before its end").with_hint("send all of it, and only once");
}

Result<> TarReader::take_header() {
  if (is_zero(block_)) {
    if (has_path_ || has_link_ || has_size_) return refused("it ends before its end");
    state_ = State::over;
    return {};
  }
  const auto sum = number_of(block_, kSum);
  if (!sum || *sum != sum_of(block_)) return refused("it is no tar archive, or damaged");
  TRY(const auto size, number_of(block_, kSize));
  if (size > kLargestFile) return refused("it has a number that is too large");
  const char type = block_[kType];
  if (type == 'x' || type == 'g' || type == 'L' || type == 'K') {
    if (size > kLongestAttribute) return refused("it has too long a name");
    if ((type == 'L' && has_path_) || (type == 'K' && has_link_))
      return refused("an entry has two names");
    attribute_type_ = type;
    attribute_.clear();
    left_ = size;
    padding_ = (kBlock - size % kBlock) % kBlock;
    state_ = State::attribute;
    return size == 0 ? end_content() : Result<>();
  }
  return begin_entry(type, size);
}

Result<> TarReader::take_attribute() {
  if (attribute_type_ == 'x' || attribute_type_ == 'g') return take_pax(attribute_);
  const std::string text = attribute_.substr(0, attribute_.find('\0'));
  (attribute_type_ == 'L' ? path_ : link_) = text;
  (attribute_type_ == 'L' ? has_path_ : has_link_) = true;
  return {};
}

Result<> TarReader::take_pax(std::string_view records) {
  while (!records.empty()) {
    size_t length = 0;
    const auto [end, problem] =
        std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<size_t>(end - records.data());
    if (problem != std::errc() || length > records.size() || length < digits + 3 ||
        records[digits] != ' ' || records[length - 1] != '\n') {
      return refused("it has a damaged header");
    }
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    records.remove_prefix(length);
    const size_t equals = record.find('=');
    if (equals == std::string_view::npos) return refused("it has a damaged header");
    const std::string_view key = record.substr(0, equals);
    const std::string_view value = record.substr(equals + 1);
    if (key.starts_with("GNU.sparse")) return refused("it has sparse files");
    const bool matters = key == "path" || key == "linkpath" || key == "size";
    if (attribute_type_ == 'g') {
      if (matters) return refused("it names all of its entries at once");
      continue;
    }
    if (key == "path") {
      if (std::exchange(has_path_, true)) return refused("an entry has two names");
      path_ = value;
    } else if (key == "linkpath") {
      if (std::exchange(has_link_, true)) return refused("an entry has two names");
      link_ = value;
    } else if (key == "size" || key == "mtime") {
      uint64_t number = 0;
      const auto [at, failed] = std::from_chars(value.data(), value.data() + value.size(), number);
      const bool is_whole = at == value.data() + value.size();
      if (key == "mtime") {
        // A time before 1970 stays what the header says.
        has_time_ = failed == std::errc() && (is_whole || *at == '.');
        time_ = static_cast<int64_t>(std::min<uint64_t>(number, kYear9999));
        continue;
      }
      if (failed != std::errc() || !is_whole || number > kLargestFile ||
          std::exchange(has_size_, true)) {
        return refused("it has a number that is too large");
      }
      size_ = number;
    }
  }
  return {};
}

Result<> TarReader::begin_entry(char type, uint64_t size) {
  const std::string prefix(text_of(block_, kPrefix));
  const bool is_ustar = text_of(block_, kMagic) == "ustar";
  const std::string name(text_of(block_, kName));
  const std::string own = is_ustar && !prefix.empty() ? prefix + "/" + name : name;
  const std::string& path = has_path_ ? path_ : own;
  if (has_size_) size = size_;

  TarEntry entry;
  if (type == '1') {
    entry.kind = TarKind::hard_link;
  } else if (type == '2') {
    entry.kind = TarKind::symlink;
  } else if (type == '5' || ((type == '0' || type == '\0') && path.ends_with('/'))) {
    entry.kind = TarKind::directory;
  } else if (type != '0' && type != '\0' && type != '7') {
    const bool is_special = type == '3' || type == '4' || type == '6';
    if (is_special && specials_ == TarSpecials::left_out && size == 0) {
      ++left_out_;
      forget_attributes();
      return {};
    }
    return refused(is_special ? "is a device or a pipe" : "is of an unknown kind", path);
  }
  TRY(entry.path, clean_path(path));
  TRY(const auto mode, number_of(block_, kMode));
  entry.mode = static_cast<uint32_t>(mode & 0777);
  entry.owner = id_of(block_, kOwner);
  entry.group = id_of(block_, kGroup);
  TRY(const auto time, number_of(block_, kTime));
  entry.modified_at = has_time_ ? time_ : static_cast<int64_t>(std::min<uint64_t>(time, kYear9999));
  if (entry.kind == TarKind::file) entry.size = size;
  if (entry.kind != TarKind::file && size > 0 && entry.kind != TarKind::hard_link)
    return refused("has content that it cannot have", path);
  const std::string link = has_link_ ? std::move(link_) : std::string(text_of(block_, kLink));
  if (entry.kind == TarKind::symlink) {
    entry.link_target = link;
    TRY_OK(check_symlink(entry, links_));
  } else if (entry.kind == TarKind::hard_link) {
    if (size > 0) return refused("has content that it cannot have", path);
    TRY(entry.link_target, clean_path(link));
  }
  if (entry.path.empty() && entry.kind != TarKind::directory)
    return refused("an entry has no name");
  forget_attributes();

  TRY_OK(sink_.begin(entry));
  is_file_ = entry.kind == TarKind::file;
  left_ = entry.size;
  padding_ = (kBlock - entry.size % kBlock) % kBlock;
  state_ = State::content;
  return left_ == 0 ? end_content() : Result<>();
}

void TarReader::forget_attributes() {
  has_path_ = has_link_ = has_size_ = has_time_ = false;
  path_.clear();
  link_.clear();
}

std::string tar_header(const TarEntry& entry) {
  const std::string name = entry.path.empty()                 ? "./"
                           : entry.kind == TarKind::directory ? entry.path + "/"
                                                              : entry.path;
  std::string extended;
  if (name.size() > kName.length) extended += pax_record("path", name);
  if (entry.link_target.size() > kLink.length)
    extended += pax_record("linkpath", entry.link_target);
  if (entry.size >= uint64_t{1} << 33) extended += pax_record("size", std::to_string(entry.size));
  std::string out;
  if (!extended.empty()) {
    out = with_sum(make_block("pax", 'x', extended.size(), {}));
    out += extended;
    out += tar_padding(extended.size());
  }
  const char type = entry.kind == TarKind::directory   ? '5'
                    : entry.kind == TarKind::symlink   ? '2'
                    : entry.kind == TarKind::hard_link ? '1'
                                                       : '0';
  std::string block = make_block(name, type, entry.size, entry);
  put_text(block, kLink, entry.link_target);
  return out + with_sum(std::move(block));
}

Result<uint64_t> tar_number(std::string_view field) {
  if (!field.empty() && (static_cast<uint8_t>(field[0]) & 0x80) != 0) {
    // Base 256, most significant byte first; the top bit only says so, and the next is the sign.
    uint64_t value = static_cast<uint8_t>(field[0]) & 0x7F;
    for (const char c : field.substr(1)) {
      if (value >> 55 != 0) return refused("it has a number that is too large");
      value = value << 8 | static_cast<uint8_t>(c);
    }
    return value;
  }
  std::string_view text = field.substr(0, field.find('\0'));
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
  if (!text.empty() && (problem != std::errc() || end != text.data() + text.size()))
    return refused("it has a number that is none");
  return value;
}

std::string tar_padding(uint64_t size) {
  return std::string(static_cast<size_t>((kBlock - size % kBlock) % kBlock), '\0');
}

std::string tar_end() { return std::string(2 * kBlock, '\0'); }

}  // namespace atl
