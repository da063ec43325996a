#include "template/gunzip.h"

#include <string>

#include <boost/beast/zlib/inflate_stream.hpp>

#include "base/crc32.h"

namespace atl {
namespace {

namespace zlib = boost::beast::zlib;

constexpr size_t kPiece = 64 * 1024;
constexpr size_t kHeader = 10;
constexpr size_t kTrailer = 8;
// What a header may have, besides text, which means nothing.
constexpr uint8_t kHeaderSum = 2, kExtra = 4, kName = 8, kComment = 16, kUnknown = 0xE0;

uint32_t number_at(std::string_view bytes, size_t at, size_t size) {
  uint32_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

Error damaged(std::string_view how) {
  return Error(Code::invalid_argument, "the compressed data is damaged: " + std::string(how))
      .with_hint("make or fetch the archive again; `gzip -t FILE` checks it");
}

}  // namespace

struct Gunzip::State {
  enum class Part : uint8_t { header, extra_size, extra, name, comment, header_sum, data, trailer };

  explicit State(Sink to) : sink(std::move(to)), buffer(kPiece, '\0') {}

  // Up to `size` bytes of a part of known length; true when it is whole.
  bool gather(std::string_view& bytes, size_t size) {
    const size_t take = std::min(bytes.size(), size - gathered.size());
    gathered += bytes.substr(0, take);
    bytes.remove_prefix(take);
    return gathered.size() == size;
  }

  // Text that ends with a NUL; true when it is over.
  static bool skip_text(std::string_view& bytes) {
    const size_t end = bytes.find('\0');
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    return end != std::string_view::npos;
  }

  Part after(Part done) const {
    if (done < Part::extra_size && (flags & kExtra) != 0) return Part::extra_size;
    if (done < Part::name && (flags & kName) != 0) return Part::name;
    if (done < Part::comment && (flags & kComment) != 0) return Part::comment;
    if (done < Part::header_sum && (flags & kHeaderSum) != 0) return Part::header_sum;
    return Part::data;
  }

  void enter(Part next) {
    part = next;
    gathered.clear();
  }

  Result<> take(std::string_view& bytes) {
    switch (part) {
      case Part::header:
        if (gather(bytes, kHeader)) return take_header();
        break;
      case Part::extra_size:
        if (gather(bytes, 2)) {
          extra = number_at(gathered, 0, 2);
          enter(extra > 0 ? Part::extra : after(Part::extra));
        }
        break;
      case Part::extra:
        if (gather(bytes, extra)) enter(after(Part::extra));
        break;
      case Part::name:
      case Part::comment:
        if (skip_text(bytes)) enter(after(part));
        break;
      case Part::header_sum:
        if (gather(bytes, 2)) enter(Part::data);
        break;
      case Part::data:
        return take_data(bytes);
      case Part::trailer:
        if (gather(bytes, kTrailer)) return take_trailer();
        break;
    }
    return {};
  }

  Result<> take_header() {
    // Whoever pads an archive pads it with zeros.
    if (members > 0 && gathered.find_first_not_of('\0') == std::string::npos) {
      enter(Part::header);
      return {};
    }
    flags = static_cast<uint8_t>(gathered[3]);
    if (!gathered.starts_with(kGzipMagic) || gathered[2] != 8 || (flags & kUnknown) != 0)
      return damaged("it is no gzip");
    inflater.reset();
    crc = 0;
    length = 0;
    enter(after(Part::header));
    return {};
  }

  Result<> take_data(std::string_view& bytes) {
    zlib::z_params parts;
    parts.next_in = bytes.data();
    parts.avail_in = bytes.size();
    parts.next_out = buffer.data();
    parts.avail_out = buffer.size();
    boost::system::error_code failure;
    inflater.write(parts, zlib::Flush::none, failure);
    const bool had_input = !bytes.empty();
    const size_t used = bytes.size() - parts.avail_in;
    bytes.remove_prefix(used);
    const std::string_view out(buffer.data(), buffer.size() - parts.avail_out);
    const bool is_end = failure == zlib::error::end_of_stream;
    if (failure && !is_end && failure != zlib::error::need_buffers)
      return damaged(failure.message());
    if (!is_end && had_input && used == 0 && out.empty()) return damaged("it makes no sense");
    crc = crc32_of(out, crc);
    length += static_cast<uint32_t>(out.size());
    if (is_end) enter(Part::trailer);
    // Output that did not fit comes with the next call, which needs no input.
    has_more = !is_end && parts.avail_out == 0;
    return out.empty() ? Result<>() : sink(out);
  }

  Result<> take_trailer() {
    if (number_at(gathered, 0, 4) != crc || number_at(gathered, 4, 4) != length)
      return damaged("its checksum differs");
    ++members;
    enter(Part::header);
    return {};
  }

  Sink sink;
  std::string buffer;
  zlib::inflate_stream inflater;
  Part part = Part::header;
  std::string gathered;  // of the part that is under way
  uint8_t flags = 0;
  uint32_t extra = 0;
  uint32_t crc = 0;
  uint32_t length = 0;  // modulo 2^32, as the trailer has it
  uint64_t members = 0;
  bool has_more = false;
};

Gunzip::Gunzip(Sink sink) : state_(std::make_unique<State>(std::move(sink))) {}
Gunzip::~Gunzip() = default;

Result<> Gunzip::put(std::string_view bytes) {
  while (!bytes.empty() || state_->has_more) TRY_OK(state_->take(bytes));
  return {};
}

Result<> Gunzip::finish() const {
  if (state_->members > 0 && state_->part == State::Part::header &&
      state_->gathered.find_first_not_of('\0') == std::string::npos) {
    return {};
  }
  return damaged("it ends before its end");
}

}  // namespace atl
