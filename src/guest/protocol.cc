#include "guest/protocol.h"

#include "base/bytes.h"

namespace atl::guest {
namespace {

// Checks the reader once at the end and hands the value over.
template <typename Message>
Result<Message> checked(const ByteReader& reader, Message message) {
  if (auto end = reader.finish(); !end) return std::move(end).error();
  return message;
}

Error bad(const char* what) {
  return Error(Code::invalid_argument, std::string("malformed message: ") + what);
}

void put(ByteWriter& writer, const Exited& message) {
  writer.u32(static_cast<uint32_t>(message.exit_code));
  writer.u32(static_cast<uint32_t>(message.signal));
  writer.u8(static_cast<uint8_t>(message.kind));
  writer.u8(static_cast<uint8_t>(message.limit));
  writer.u64(message.duration_us);
  writer.u64(message.cpu_user_us);
  writer.u64(message.cpu_system_us);
  writer.u64(message.peak_memory_bytes);
  writer.u64(message.stdout_bytes);
  writer.u64(message.stderr_bytes);
  writer.u8(static_cast<uint8_t>((message.attested ? 1 : 0) | (message.whole_group ? 2 : 0) |
                                 (message.warm ? 4 : 0)));
}

// Numbers that could not be true are cut to what the host can use without surprise.
Result<Exited> take_exited(ByteReader& reader) {
  constexpr uint64_t kLongest = 1ULL << 52;
  const auto bounded = [&] { return std::min(reader.u64(), kLongest); };
  Exited message;
  message.exit_code = static_cast<int32_t>(reader.u32());
  message.signal = static_cast<int32_t>(reader.u32());
  const uint8_t kind = reader.u8();
  const uint8_t limit = reader.u8();
  message.duration_us = bounded();
  message.cpu_user_us = bounded();
  message.cpu_system_us = bounded();
  message.peak_memory_bytes = bounded();
  message.stdout_bytes = bounded();
  message.stderr_bytes = bounded();
  const uint8_t flags = reader.u8();
  message.attested = (flags & 1) != 0;
  message.whole_group = (flags & 2) != 0;
  message.warm = (flags & 4) != 0;
  if (kind > static_cast<uint8_t>(ExitKind::infra)) return bad("an unknown end of a process");
  if (limit > static_cast<uint8_t>(HitLimit::output)) return bad("an unknown limit");
  if (message.exit_code < 0 || message.exit_code > 255 || message.signal < 0 ||
      message.signal > 64) {
    return bad("an impossible exit status");
  }
  message.kind = static_cast<ExitKind>(kind);
  message.limit = static_cast<HitLimit>(limit);
  return message;
}

Result<uint16_t> take_u16(ByteReader& reader) {
  const uint32_t value = reader.u32();
  if (value > UINT16_MAX) return bad("a number that is too large");
  return static_cast<uint16_t>(value);
}

}  // namespace

std::string encode(const Hello& message) {
  ByteWriter writer;
  writer.u32(message.version);
  return std::move(writer).bytes();
}

Result<Hello> decode_hello(std::string_view body) {
  ByteReader reader(body);
  Hello message{reader.u32()};
  return checked(reader, message);
}

std::string encode(const HelloOk& message) {
  ByteWriter writer;
  writer.u32(message.version);
  writer.text(message.agent_version);
  return std::move(writer).bytes();
}

Result<HelloOk> decode_hello_ok(std::string_view body) {
  ByteReader reader(body);
  HelloOk message;
  message.version = reader.u32();
  message.agent_version = reader.text();
  return checked(reader, std::move(message));
}

std::string encode(const Exec& message) {
  ByteWriter writer;
  writer.texts(message.argv);
  writer.pairs(message.env);
  writer.text(message.cwd);
  writer.text(message.user);
  writer.u8(static_cast<uint8_t>((message.stdin_open ? 1 : 0) | (message.direct ? 2 : 0) |
                                 (message.warm ? 4 : 0)));
  writer.u64(message.timeout_ms);
  writer.u64(message.cpu_time_ms);
  writer.u64(message.output_limit);
  writer.u64(message.credit);
  writer.u32(message.rows);
  writer.u32(message.columns);
  return std::move(writer).bytes();
}

Result<Exec> decode_exec(std::string_view body) {
  ByteReader reader(body);
  Exec message;
  message.argv = reader.texts(kMostArguments);
  message.env = reader.pairs(kMostVariables);
  message.cwd = reader.text();
  message.user = reader.text();
  const uint8_t flags = reader.u8();
  message.stdin_open = (flags & 1) != 0;
  message.direct = (flags & 2) != 0;
  message.warm = (flags & 4) != 0;
  message.timeout_ms = reader.u64();
  message.cpu_time_ms = reader.u64();
  message.output_limit = reader.u64();
  message.credit = reader.u64();
  TRY(message.rows, take_u16(reader));
  TRY(message.columns, take_u16(reader));
  if ((message.rows == 0) != (message.columns == 0)) return bad("half a terminal");
  if (flags > 7) return bad("unknown flags");
  return checked(reader, std::move(message));
}

std::string encode(const Tool& message) {
  ByteWriter writer;
  writer.texts(message.argv);
  writer.text(message.path);
  writer.u8(message.writes ? 1 : 0);
  writer.u64(message.timeout_ms);
  writer.u64(message.credit);
  return std::move(writer).bytes();
}

Result<Tool> decode_tool(std::string_view body) {
  ByteReader reader(body);
  Tool message;
  message.argv = reader.texts(kMostArguments);
  message.path = reader.text();
  message.writes = reader.u8() != 0;
  message.timeout_ms = reader.u64();
  message.credit = reader.u64();
  return checked(reader, std::move(message));
}

std::string encode(const Attach& message) {
  ByteWriter writer;
  writer.u64(message.process);
  writer.u64(message.stdout_offset);
  writer.u64(message.stderr_offset);
  writer.u64(message.credit);
  return std::move(writer).bytes();
}

Result<Attach> decode_attach(std::string_view body) {
  ByteReader reader(body);
  Attach message;
  message.process = reader.u64();
  message.stdout_offset = reader.u64();
  message.stderr_offset = reader.u64();
  message.credit = reader.u64();
  return checked(reader, message);
}

std::string encode(const Started& message) {
  ByteWriter writer;
  writer.u64(message.process);
  writer.u32(message.pid);
  return std::move(writer).bytes();
}

Result<Started> decode_started(std::string_view body) {
  ByteReader reader(body);
  Started message;
  message.process = reader.u64();
  message.pid = reader.u32();
  return checked(reader, message);
}

std::string encode_output_header(uint8_t stream, uint64_t offset) {
  ByteWriter writer;
  writer.u8(stream);
  writer.u64(offset);
  return std::move(writer).bytes();
}

Result<OutputPiece> decode_output(std::string_view body) {
  ByteReader reader(body);
  OutputPiece message;
  message.stream = reader.u8();
  message.offset = reader.u64();
  message.bytes = reader.raw();
  if (message.stream != 1 && message.stream != 2) return bad("an unknown stream");
  return checked(reader, message);
}

std::string encode(const Gap& message) {
  ByteWriter writer;
  writer.u8(message.stream);
  writer.u64(message.from);
  writer.u64(message.to);
  return std::move(writer).bytes();
}

Result<Gap> decode_gap(std::string_view body) {
  ByteReader reader(body);
  Gap message;
  message.stream = reader.u8();
  message.from = reader.u64();
  message.to = reader.u64();
  if (message.stream != 1 && message.stream != 2) return bad("an unknown stream");
  if (message.to < message.from) return bad("a gap that ends before it begins");
  return checked(reader, message);
}

std::string encode(const Exited& message) {
  ByteWriter writer;
  put(writer, message);
  return std::move(writer).bytes();
}

Result<Exited> decode_exited(std::string_view body) {
  ByteReader reader(body);
  TRY(auto message, take_exited(reader));
  return checked(reader, message);
}

std::string encode(const StdinData& message) {
  ByteWriter writer;
  writer.u64(message.process);
  writer.raw(message.bytes);
  return std::move(writer).bytes();
}

Result<StdinData> decode_stdin(std::string_view body) {
  ByteReader reader(body);
  StdinData message;
  message.process = reader.u64();
  message.bytes = reader.raw();
  return checked(reader, message);
}

std::string encode(const Signal& message) {
  ByteWriter writer;
  writer.u64(message.process);
  writer.u32(message.number);
  return std::move(writer).bytes();
}

Result<Signal> decode_signal(std::string_view body) {
  ByteReader reader(body);
  Signal message;
  message.process = reader.u64();
  message.number = reader.u32();
  return checked(reader, message);
}

std::string encode(const Resize& message) {
  ByteWriter writer;
  writer.u64(message.process);
  writer.u32(message.rows);
  writer.u32(message.columns);
  return std::move(writer).bytes();
}

Result<Resize> decode_resize(std::string_view body) {
  ByteReader reader(body);
  Resize message;
  message.process = reader.u64();
  TRY(message.rows, take_u16(reader));
  TRY(message.columns, take_u16(reader));
  return checked(reader, message);
}

std::string encode(const Dial& message) {
  ByteWriter writer;
  writer.u32(message.port);
  writer.u64(message.credit);
  return std::move(writer).bytes();
}

Result<Dial> decode_dial(std::string_view body) {
  ByteReader reader(body);
  Dial message;
  TRY(message.port, take_u16(reader));
  message.credit = reader.u64();
  return checked(reader, message);
}

std::string encode(const TunnelData& message) {
  ByteWriter writer;
  writer.u32(message.channel);
  writer.raw(message.bytes);
  return std::move(writer).bytes();
}

Result<TunnelData> decode_tunnel_data(std::string_view body) {
  ByteReader reader(body);
  TunnelData message;
  message.channel = reader.u32();
  message.bytes = reader.raw();
  return checked(reader, message);
}

std::string encode(const std::vector<ProcessRow>& rows) {
  ByteWriter writer;
  writer.u32(static_cast<uint32_t>(rows.size()));
  for (const auto& row : rows) {
    writer.u64(row.process);
    writer.u32(row.pid);
    writer.texts(row.argv);
    writer.text(row.cwd);
    writer.i64(row.started_at_ms);
    writer.u8(static_cast<uint8_t>((row.running ? 1 : 0) | (row.terminal ? 2 : 0)));
    put(writer, row.exit);
    for (const uint64_t at : {row.stdout_first, row.stdout_end, row.stderr_first, row.stderr_end})
      writer.u64(at);
  }
  return std::move(writer).bytes();
}

Result<std::vector<ProcessRow>> decode_processes(std::string_view body) {
  ByteReader reader(body);
  const uint32_t count = reader.u32();
  if (count > kMostProcesses) return bad("too many processes");
  std::vector<ProcessRow> rows;
  for (uint32_t i = 0; i < count; ++i) {
    ProcessRow row;
    row.process = reader.u64();
    row.pid = reader.u32();
    row.argv = reader.texts(kMostArguments);
    row.cwd = reader.text();
    row.started_at_ms = reader.i64();
    const uint8_t flags = reader.u8();
    row.running = (flags & 1) != 0;
    row.terminal = (flags & 2) != 0;
    TRY(row.exit, take_exited(reader));
    row.stdout_first = reader.u64();
    row.stdout_end = reader.u64();
    row.stderr_first = reader.u64();
    row.stderr_end = reader.u64();
    rows.push_back(std::move(row));
  }
  return checked(reader, std::move(rows));
}

std::string encode(const Stats& message) {
  ByteWriter writer;
  writer.u64(message.processes);
  writer.u64(message.cpu_us);
  writer.u64(message.memory_bytes);
  writer.u64(message.age_us);
  writer.u64(message.braked);
  return std::move(writer).bytes();
}

Result<Stats> decode_stats(std::string_view body) {
  ByteReader reader(body);
  Stats message;
  message.processes = reader.u64();
  message.cpu_us = reader.u64();
  message.memory_bytes = reader.u64();
  message.age_us = reader.u64();
  message.braked = reader.u64();
  return checked(reader, message);
}

std::string encode_error(const Error& error) {
  ByteWriter writer;
  writer.u8(static_cast<uint8_t>(error.code()));
  writer.u32(static_cast<uint32_t>(error.os_errno()));
  writer.text(error.message());
  writer.text(error.hint());
  return std::move(writer).bytes();
}

Result<Error> decode_error(std::string_view body) {
  ByteReader reader(body);
  const uint8_t code = reader.u8();
  const auto number = static_cast<int>(reader.u32());
  std::string message(reader.text().substr(0, 4096));
  const std::string hint(reader.text().substr(0, 4096));
  if (code > static_cast<uint8_t>(Code::out_of_space)) return bad("an unknown error");
  // Kept apart from Result's own error: this is a message about an error, well received.
  if (auto end = reader.finish(); !end) return std::move(end).error();
  return Result<Error>(tl::in_place,
                       Error(static_cast<Code>(code), std::move(message), number).with_hint(hint));
}

std::string encode(const HandOver& message) {
  ByteWriter writer;
  writer.pairs(message.env);
  writer.u8(message.dies_with_connection ? 1 : 0);
  return std::move(writer).bytes();
}

Result<HandOver> decode_hand_over(std::string_view body) {
  ByteReader reader(body);
  HandOver message;
  message.env = reader.pairs(kMostVariables);
  message.dies_with_connection = reader.u8() != 0;
  return checked(reader, std::move(message));
}

std::string encode(const Renew& message) {
  ByteWriter writer;
  writer.u64(static_cast<uint64_t>(message.expires_at.count()));
  return std::move(writer).bytes();
}

Result<Renew> decode_renew(std::string_view body) {
  ByteReader reader(body);
  Renew message;
  message.expires_at = Micros(reader.u64());
  return checked(reader, message);
}

std::string encode(const Path& message) {
  ByteWriter writer;
  writer.text(message.path);
  writer.u32(message.mode);
  writer.u8(message.deep ? 1 : 0);
  writer.u64(message.limit);
  return std::move(writer).bytes();
}

Result<Path> decode_path(std::string_view body) {
  ByteReader reader(body);
  Path message;
  message.path = reader.text();
  message.mode = reader.u32();
  message.deep = reader.u8() == 1;
  message.limit = reader.u64();
  return checked(reader, std::move(message));
}

std::string encode(const Move& message) {
  ByteWriter writer;
  writer.text(message.from);
  writer.text(message.to);
  return std::move(writer).bytes();
}

Result<Move> decode_move(std::string_view body) {
  ByteReader reader(body);
  Move message;
  message.from = reader.text();
  message.to = reader.text();
  return checked(reader, std::move(message));
}

std::string encode(const std::vector<Entry>& entries) {
  ByteWriter writer;
  writer.u32(static_cast<uint32_t>(entries.size()));
  for (const auto& entry : entries) {
    writer.text(entry.name);
    writer.text(entry.path);
    writer.u8(static_cast<uint8_t>(entry.kind));
    writer.u64(entry.size);
    writer.u32(entry.mode);
    writer.u32(entry.uid);
    writer.u32(entry.gid);
    writer.i64(entry.modified_at_ms);
    writer.text(entry.link_target);
    writer.u64(entry.version);
  }
  return std::move(writer).bytes();
}

Result<std::vector<Entry>> decode_entries(std::string_view body) {
  ByteReader reader(body);
  const uint32_t count = reader.u32();
  if (count > kMostListed) return bad("too many files");
  std::vector<Entry> entries;
  for (uint32_t i = 0; i < count; ++i) {
    Entry entry;
    entry.name = reader.text();
    entry.path = reader.text();
    const uint8_t kind = reader.u8();
    entry.size = reader.u64();
    entry.mode = reader.u32();
    entry.uid = reader.u32();
    entry.gid = reader.u32();
    entry.modified_at_ms = reader.i64();
    entry.link_target = reader.text();
    entry.version = reader.u64();
    if (kind > static_cast<uint8_t>(EntryKind::other)) return bad("an unknown kind of file");
    entry.kind = static_cast<EntryKind>(kind);
    entries.push_back(std::move(entry));
  }
  return checked(reader, std::move(entries));
}

std::string encode(const Diff& message) {
  ByteWriter writer;
  writer.text(message.path);
  writer.u64(message.skip);
  return std::move(writer).bytes();
}

Result<Diff> decode_diff(std::string_view body) {
  ByteReader reader(body);
  Diff message;
  message.path = reader.text();
  message.skip = reader.u64();
  return checked(reader, std::move(message));
}

std::string encode(const DiffPage& message) {
  ByteWriter writer;
  writer.u8(message.more ? 1 : 0);
  writer.u32(static_cast<uint32_t>(message.changes.size()));
  for (const auto& change : message.changes) {
    writer.u8(static_cast<uint8_t>(change.change));
    writer.u8(static_cast<uint8_t>(change.kind));
    writer.text(change.path);
    writer.u64(change.size);
    writer.u32(change.mode);
    writer.i64(change.modified_at_ns);
    writer.text(change.link_target);
  }
  return std::move(writer).bytes();
}

Result<DiffPage> decode_diff_page(std::string_view body) {
  ByteReader reader(body);
  DiffPage message;
  message.more = reader.u8() != 0;
  const uint32_t count = reader.u32();
  if (count > kMostChanges) return bad("too many changes");
  for (uint32_t i = 0; i < count; ++i) {
    Change change;
    const uint8_t what = reader.u8();
    const uint8_t kind = reader.u8();
    change.path = reader.text();
    change.size = reader.u64();
    change.mode = reader.u32();
    change.modified_at_ns = reader.i64();
    change.link_target = reader.text();
    if (what > static_cast<uint8_t>(ChangeKind::deleted)) return bad("an unknown kind of change");
    if (kind > static_cast<uint8_t>(EntryKind::other)) return bad("an unknown kind of file");
    change.change = static_cast<ChangeKind>(what);
    change.kind = static_cast<EntryKind>(kind);
    message.changes.push_back(std::move(change));
  }
  return checked(reader, std::move(message));
}

std::string encode(const OpenedFile& message) {
  ByteWriter writer;
  writer.u32(message.handle);
  writer.u64(message.size);
  writer.u64(message.version);
  return std::move(writer).bytes();
}

Result<OpenedFile> decode_opened(std::string_view body) {
  ByteReader reader(body);
  OpenedFile message;
  message.handle = reader.u32();
  message.size = reader.u64();
  message.version = reader.u64();
  return checked(reader, message);
}

std::string encode(const ResumeWrite& message) {
  ByteWriter writer;
  writer.text(message.upload);
  writer.u64(message.offset);
  writer.u8(message.look ? 1 : 0);
  writer.raw(encode(message.file));
  return std::move(writer).bytes();
}

Result<ResumeWrite> decode_resume_write(std::string_view body) {
  ByteReader reader(body);
  ResumeWrite message;
  message.upload = reader.text();
  message.offset = reader.u64();
  message.look = reader.u8() != 0;
  TRY(message.file, decode_path(reader.raw()));
  return checked(reader, std::move(message));
}

std::string encode(const ReadFile& message) {
  ByteWriter writer;
  writer.u32(message.handle);
  writer.u64(message.offset);
  writer.u32(message.most);
  return std::move(writer).bytes();
}

Result<ReadFile> decode_read(std::string_view body) {
  ByteReader reader(body);
  ReadFile message;
  message.handle = reader.u32();
  message.offset = reader.u64();
  message.most = reader.u32();
  return checked(reader, message);
}

std::string encode(const WriteFile& message) {
  ByteWriter writer;
  writer.u32(message.handle);
  writer.raw(message.bytes);
  return std::move(writer).bytes();
}

Result<WriteFile> decode_write(std::string_view body) {
  ByteReader reader(body);
  WriteFile message;
  message.handle = reader.u32();
  message.bytes = reader.raw();
  return checked(reader, message);
}

std::string encode_handle(uint32_t handle) {
  ByteWriter writer;
  writer.u32(handle);
  return std::move(writer).bytes();
}

Result<uint32_t> decode_handle(std::string_view body) {
  ByteReader reader(body);
  const uint32_t handle = reader.u32();
  return checked(reader, handle);
}

}  // namespace atl::guest
