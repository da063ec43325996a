#include "guest/tool_records.h"

#include "base/bytes.h"

namespace atl::guest {
namespace {

constexpr size_t kLength = 4;

Error nonsense(const char* what) {
  return Error(Code::unavailable, std::string("a tool in the sandbox answers nonsense: ") + what);
}

template <typename Value>
Result<Record> checked(const ByteReader& reader, Value value) {
  if (!reader.finish()) return nonsense("a record that does not add up");
  return Record(std::move(value));
}

Result<EntryKind> take_kind(ByteReader& reader) {
  const uint8_t kind = reader.u8();
  if (kind > static_cast<uint8_t>(EntryKind::other)) return nonsense("an unknown kind of file");
  return static_cast<EntryKind>(kind);
}

void put(ByteWriter& writer, const Found& record) {
  const Entry& entry = record.entry;
  writer.text(entry.path);
  writer.u8(static_cast<uint8_t>(entry.kind));
  writer.u64(entry.size);
  writer.u32(entry.mode);
  writer.u32(entry.uid);
  writer.u32(entry.gid);
  writer.i64(entry.modified_at_ms);
  writer.text(entry.link_target);
}

void put(ByteWriter& writer, const Match& record) {
  writer.text(record.path);
  writer.u64(record.line);
  writer.u8(record.cut ? 1 : 0);
  writer.text(record.text);
}

void put(ByteWriter& writer, const Watched& record) {
  writer.u8(static_cast<uint8_t>(record.kind));
  writer.u8(static_cast<uint8_t>(record.file));
  writer.text(record.path);
  writer.text(record.from);
}

void put(ByteWriter& writer, const Archive& record) { writer.raw(record.bytes); }

void put(ByteWriter& writer, const Unpacked& record) {
  writer.text(record.path);
  writer.u8(static_cast<uint8_t>(record.kind));
  writer.u64(record.size);
}

void put(ByteWriter&, const Ready&) {}

void put(ByteWriter& writer, const End& record) {
  for (const uint64_t number : {record.seen, record.told, record.skipped, record.bytes})
    writer.u64(number);
  writer.u8(record.more ? 1 : 0);
}

void put(ByteWriter& writer, const Failed& record) { writer.raw(encode_error(record.error)); }

// Numbers that could not be true are cut to what JSON carries exactly.
uint64_t bounded(ByteReader& reader) { return std::min(reader.u64(), uint64_t{1} << 52); }

Result<Record> decode_found(ByteReader& reader) {
  Entry entry;
  entry.path = reader.text();
  TRY(entry.kind, take_kind(reader));
  entry.size = bounded(reader);
  entry.mode = reader.u32();
  entry.uid = reader.u32();
  entry.gid = reader.u32();
  entry.modified_at_ms = reader.i64();
  entry.link_target = reader.text();
  entry.name = entry.path.substr(entry.path.rfind('/') + 1);
  return checked(reader, Found{std::move(entry)});
}

Result<Record> decode_match(ByteReader& reader) {
  Match match;
  match.path = reader.text();
  match.line = bounded(reader);
  match.cut = reader.u8() != 0;
  match.text = reader.text();
  return checked(reader, std::move(match));
}

Result<Record> decode_watched(ByteReader& reader) {
  Watched watched;
  const uint8_t kind = reader.u8();
  if (kind > static_cast<uint8_t>(WatchedKind::overflow)) return nonsense("an unknown event");
  watched.kind = static_cast<WatchedKind>(kind);
  TRY(watched.file, take_kind(reader));
  watched.path = reader.text();
  watched.from = reader.text();
  return checked(reader, std::move(watched));
}

Result<Record> decode_unpacked(ByteReader& reader) {
  Unpacked unpacked;
  unpacked.path = reader.text();
  TRY(unpacked.kind, take_kind(reader));
  unpacked.size = bounded(reader);
  return checked(reader, std::move(unpacked));
}

Result<Record> decode_end(ByteReader& reader) {
  End end;
  end.seen = bounded(reader);
  end.told = bounded(reader);
  end.skipped = bounded(reader);
  end.bytes = bounded(reader);
  end.more = reader.u8() != 0;
  return checked(reader, end);
}

Result<Record> decode_record(std::string_view bytes) {
  ByteReader reader(bytes);
  switch (static_cast<RecordKind>(reader.u8())) {
    case RecordKind::found:
      return decode_found(reader);
    case RecordKind::match:
      return decode_match(reader);
    case RecordKind::event:
      return decode_watched(reader);
    case RecordKind::archive:
      return checked(reader, Archive{std::string(reader.raw())});
    case RecordKind::unpacked:
      return decode_unpacked(reader);
    case RecordKind::ready:
      return checked(reader, Ready{});
    case RecordKind::end:
      return decode_end(reader);
    case RecordKind::failed: {
      TRY(auto error, decode_error(reader.raw()));
      return checked(reader, Failed{std::move(error)});
    }
  }
  return nonsense("an unknown record");
}

}  // namespace

std::string encode_record(const Record& record) {
  ByteWriter body;
  body.u8(static_cast<uint8_t>(record.index() + 1));
  std::visit([&](const auto& one) { put(body, one); }, record);
  ByteWriter writer;
  writer.u32(static_cast<uint32_t>(body.bytes().size()));
  writer.raw(body.bytes());
  return std::move(writer).bytes();
}

Result<std::optional<Record>> RecordReader::next() {
  const std::string_view rest = std::string_view(bytes_).substr(begin_);
  if (rest.size() < kLength) return std::optional<Record>();
  ByteReader head(rest.substr(0, kLength));
  const size_t length = head.u32();
  if (length == 0 || length > kLargestRecord) return nonsense("a record of an impossible length");
  if (rest.size() < kLength + length) {
    // What has been read must not pile up in front of what waits.
    bytes_.erase(0, begin_);
    begin_ = 0;
    return std::optional<Record>();
  }
  TRY(auto record, decode_record(rest.substr(kLength, length)));
  begin_ += kLength + length;
  if (begin_ == bytes_.size()) {
    bytes_.clear();
    begin_ = 0;
  }
  return std::optional(std::move(record));
}

}  // namespace atl::guest
